"""Chat and conversations over HTTP: one ASGI app.

On AWS it runs under uvicorn behind the Lambda Web Adapter (``run.sh``), where answers can be
streamed. Where there is no adapter, ``lambda_handler`` serves the same app event by event.
"""

from functools import lru_cache
from typing import Any

from mangum import Mangum

from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.conversations import Conversation, ConversationChanges, Message
from threadkeep.domain.turns import TurnAnswer, TurnRequest
from threadkeep.http import Answer, Api, Listing, ListQuery, Request, asgi_app, listed
from threadkeep.services.chat import LEASE_SECONDS

CONVERSATION = "/conversations/{conversation_id}"

api = Api("chat")


@lru_cache
def bootstrap() -> Bootstrap:
    """Return the product; tests put another in its place."""
    return Bootstrap()


@api.post(
    "/agents/{agent_id}/chat", body=TurnRequest, response=TurnAnswer, time_limit=LEASE_SECONDS
)
def chat(request: Request[TurnRequest]) -> Answer:
    """Say something to an agent and get its answer."""
    turn = bootstrap().chat.turn(request.user_id, request.path["agent_id"], request.body)
    return Answer(turn)


@api.get("/conversations", query=ListQuery, response=Listing[Conversation])
def list_conversations(request: Request[None, ListQuery]) -> Answer:
    """List conversations, newest activity first."""
    conversations = bootstrap().conversations
    return listed(request, lambda page: conversations.list(request.user_id, page))


@api.get(CONVERSATION, response=Conversation)
def get_conversation(request: Request) -> Answer:
    """Read what a conversation is called and where it stands."""
    conversation_id = request.path["conversation_id"]
    return Answer(bootstrap().conversations.get(request.user_id, conversation_id))


@api.patch(CONVERSATION, body=ConversationChanges, response=Conversation, versioned=True)
def rename_conversation(request: Request[ConversationChanges]) -> Answer:
    """Change a conversation's title."""
    conversation = bootstrap().conversations.rename(
        request.user_id, request.path["conversation_id"], request.body.title, request.if_match
    )
    return Answer(conversation)


@api.delete(CONVERSATION, versioned=True)
def delete_conversation(request: Request) -> Answer:
    """Delete a conversation with its messages; what was learned from it stays."""
    conversation_id = request.path["conversation_id"]
    bootstrap().conversations.delete(request.user_id, conversation_id, request.if_match)
    return Answer()


@api.get(f"{CONVERSATION}/messages", query=ListQuery, response=Listing[Message])
def list_messages(request: Request[None, ListQuery]) -> Answer:
    """Read the transcript in order."""
    conversations, conversation_id = bootstrap().conversations, request.path["conversation_id"]
    return listed(
        request, lambda page: conversations.messages(request.user_id, conversation_id, page)
    )


app = asgi_app(api, lambda: bootstrap())  # noqa: PLW0108 (tests replace it)


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one event of API Gateway."""
    # Made anew each time: it belongs to the thread that made it. What is not named as text would
    # be answered in base64.
    text = ["application/json", "application/problem+json"]
    return Mangum(app, lifespan="off", text_mime_types=text)(event, context)
