"""Users, tokens, a shared agent and site settings of a local stack; twice adds nothing."""

import base64
import json
from typing import TYPE_CHECKING, Any

import httpx

from local.config import LocalStackError
from local.emulator import Clients

if TYPE_CHECKING:
    from mypy_boto3_cognito_idp.type_defs import AttributeTypeTypeDef

ADMIN = "admin"
AGENT = {
    "name": "Companion",
    "description": "Remembers what you tell it, across conversations.",
    "visibility": "shared",
    "enable_memory": True,
}
# A fact is there within 20 seconds after it was said.
SITE_SETTINGS = {
    "memory_async_extraction_enabled": True,
    "memory_extraction_cooldown_seconds": 10,
}


def create_user(
    clients: Clients, pool_id: str, name: str, password: str, *, admin: bool = False
) -> None:
    """Create a user with a password that holds; leave one of that name as it is."""
    cognito = clients.cognito
    attributes: list[AttributeTypeTypeDef] = [
        {"Name": "email", "Value": f"{name}@example.com"},
        {"Name": "email_verified", "Value": "true"},
    ]
    try:
        cognito.admin_create_user(
            UserPoolId=pool_id, Username=name, UserAttributes=attributes, MessageAction="SUPPRESS"
        )
    except cognito.exceptions.UsernameExistsException:
        return
    cognito.admin_set_user_password(
        UserPoolId=pool_id, Username=name, Password=password, Permanent=True
    )
    if admin:
        cognito.admin_add_user_to_group(UserPoolId=pool_id, Username=name, GroupName=ADMIN)


def id_token(clients: Clients, client_id: str, name: str, password: str) -> str:
    """Sign a user in and return the id token, which is what the API takes."""
    answer = clients.cognito.initiate_auth(
        ClientId=client_id,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": name, "PASSWORD": password},
    )
    return answer["AuthenticationResult"]["IdToken"]


def subject(token: str) -> str:
    """Return whose token it is."""
    payload = token.split(".")[1]
    return str(json.loads(base64.urlsafe_b64decode(payload + "=="))["sub"])


def seed(api_url: str, admin_token: str) -> None:
    """Make the shared agent and turn extraction on, through the HTTP API as an administrator.

    Raises:
        LocalStackError: The API refused.
    """
    headers = {"Authorization": f"Bearer {admin_token}"}
    with httpx.Client(base_url=f"{api_url}/api/v1", headers=headers, timeout=60) as http:
        _checked(http.put("/admin/site-settings", json=SITE_SETTINGS))
        agents = _checked(http.get("/agents", params={"limit": 100}))["items"]
        found = next((agent for agent in agents if agent["name"] == AGENT["name"]), None)
        agent = found or _checked(http.post("/agents", json=AGENT))
        if agent["status"] != "published":
            _checked(http.post(f"/agents/{agent['id']}/publish"))


def _checked(answer: httpx.Response) -> Any:
    if answer.is_error:
        raise LocalStackError(
            f"seeding failed: {answer.request.method} {answer.request.url.path} answered "
            f"{answer.status_code} {answer.text}"
        )
    return answer.json()
