"""Agents, site settings and the API itself over HTTP; and the check of settings at deployment."""

from functools import lru_cache
from typing import Any

from threadkeep.bootstrap import Bootstrap
from threadkeep.deployment import answer_custom_resource
from threadkeep.domain.agents import AgentChanges, AgentConfig, AgentView
from threadkeep.domain.site_settings import (
    Category,
    SettingDetail,
    SettingsReset,
    SettingValue,
    SiteSettings,
    SiteSettingsChanges,
)
from threadkeep.domain.types import Model
from threadkeep.http import Answer, Api, Listing, ListQuery, Request, listed, rest_handler
from threadkeep.openapi import published

AGENT = "/agents/{agent_id}"
SETTINGS = "/admin/site-settings"

api = Api("accounts")


@lru_cache
def bootstrap() -> Bootstrap:
    """Return the product; tests put another in its place."""
    return Bootstrap()


class SettingsQuery(Model):
    """Which settings are read."""

    category: Category | None = None


class Health(Model):
    """That the function runs."""

    status: str = "ok"


@api.get("/agents", query=ListQuery, response=Listing[AgentView])
def list_agents(request: Request[None, ListQuery]) -> Answer:
    """List own and shared agents, newest first."""
    agents = bootstrap().agents
    return listed(request, lambda page: agents.list(request.user_id, page))


@api.post("/agents", body=AgentConfig, response=AgentView, status=201)
def create_agent(request: Request[AgentConfig]) -> Answer:
    """Create an agent as a draft."""
    return Answer(bootstrap().agents.create(request.user_id, request.body))


@api.get(AGENT, response=AgentView)
def get_agent(request: Request) -> Answer:
    """Read an own agent's draft, or a shared agent."""
    return Answer(bootstrap().agents.get(request.user_id, request.path["agent_id"]))


@api.put(AGENT, body=AgentChanges, response=AgentView, versioned=True)
def update_agent(request: Request[AgentChanges]) -> Answer:
    """Replace the named fields of an agent's draft; null brings one back to its default."""
    agent = bootstrap().agents.edit(
        request.user_id, request.path["agent_id"], request.body, request.if_match
    )
    return Answer(agent)


@api.delete(AGENT, versioned=True)
def delete_agent(request: Request) -> Answer:
    """Delete an agent; conversations held with it stay."""
    bootstrap().agents.delete(request.user_id, request.path["agent_id"], request.if_match)
    return Answer()


@api.post(f"{AGENT}/publish", response=AgentView, versioned=True)
def publish_agent(request: Request) -> Answer:
    """Make an agent's draft live."""
    agent = bootstrap().agents.publish(request.user_id, request.path["agent_id"], request.if_match)
    return Answer(agent)


@api.get(SETTINGS, query=SettingsQuery, response=SiteSettings, admin=True)
def get_settings(request: Request[None, SettingsQuery]) -> Answer:
    """Read all settings, or those of a category, as an object of key and value."""
    return Answer(bootstrap().site_settings.values(request.query.category))


@api.put(SETTINGS, body=SiteSettingsChanges, response=SiteSettings, admin=True)
def set_settings(request: Request[SiteSettingsChanges]) -> Answer:
    """Set the named settings; null brings one back to its default."""
    settings = bootstrap().site_settings
    settings.set(request.body)
    return Answer(settings.current())


@api.post(f"{SETTINGS}/reset", body=SettingsReset, response=SiteSettings, admin=True)
def reset_settings(request: Request[SettingsReset]) -> Answer:
    """Bring the named settings, those of a category, or all back to their defaults."""
    settings = bootstrap().site_settings
    settings.reset(request.body)
    return Answer(settings.current())


@api.get(f"{SETTINGS}/{{key}}", response=SettingDetail, admin=True)
def get_setting(request: Request) -> Answer:
    """Read one setting with its default and range."""
    return Answer(bootstrap().site_settings.detail(request.path["key"]))


@api.put(f"{SETTINGS}/{{key}}", body=SettingValue, response=SettingDetail, admin=True)
def set_setting(request: Request[SettingValue]) -> Answer:
    """Set one setting."""
    return Answer(bootstrap().site_settings.set_one(request.path["key"], request.body.value))


@api.get("/health", response=Health, open_to_all=True)
def get_health(_: Request) -> Answer:
    """Tell that the service runs."""
    return Answer(Health())


@api.get("/openapi.json", open_to_all=True)
def get_openapi(_: Request) -> Answer:
    """Describe this API in OpenAPI 3.1."""
    return Answer(published())


lambda_handler = rest_handler(api, lambda: bootstrap())  # noqa: PLW0108 (tests replace it)


def on_deploy(event: dict[str, Any], context: Any) -> None:
    """Check the settings for CloudFormation: a wrong one fails the deployment by its name."""
    answer_custom_resource(event, lambda: bootstrap().check_settings())
