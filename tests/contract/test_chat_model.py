"""What every chat model does, and the calls that the adapters make of their providers."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from moto import mock_aws

from tests.contract.bedrock_api import BedrockApi, converse_answer, failure
from tests.contract.openai_api import OpenAiApi, Reply, chat_reply, openai_api
from tests.fakes.models import FakeChatModel
from threadkeep.domain.conversations import Message, Role, ToolCall, Usage
from threadkeep.errors import MisconfiguredError, ModelError, ModelThrottledError
from threadkeep.llm.bedrock import BedrockChat
from threadkeep.llm.offline.chat import OfflineChat
from threadkeep.llm.openai_compatible import OpenAiChat
from threadkeep.llm.openai_endpoint import OpenAiEndpoint
from threadkeep.llm.routing import validate
from threadkeep.ports import ChatModel, ChatRequest
from threadkeep.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLAUDE = "bedrock:eu.anthropic.claude-sonnet-4-20250514-v1:0"
LLAMA = "bedrock:meta.llama3-70b-instruct-v1:0"
GPT = "openai:gpt-4o"
STOP_REASONS = {
    "end_turn",
    "max_tokens",
    "tool_use",
    "content_filter",
    "context_window_exceeded",
    "other",
}


def message(role: Role, content: str, **fields: Any) -> Message:
    """Return a message of a transcript."""
    return Message(
        id=f"m-{content[:8]}",
        conversation_id="c1",
        seq=1,
        role=role,
        content=content,
        created_at=datetime(2026, 3, 2, tzinfo=UTC),
        **fields,
    )


def request(*messages: Message, model_id: str = GPT, **fields: Any) -> ChatRequest:
    """Return a request with the messages, or with one question."""
    asked = messages or (message(Role.USER, "What coffee should I buy?"),)
    return ChatRequest(
        **{"model_id": model_id, "system": (), "max_output_tokens": 100, **fields}, messages=asked
    )


@pytest.fixture
def bedrock() -> BedrockApi:
    """Bedrock, answering politely."""
    return BedrockApi(lambda *_: converse_answer("Dark roast."))


@pytest.fixture
def openai() -> Iterator[OpenAiApi]:
    """An OpenAI-compatible endpoint, answering politely."""
    with openai_api(lambda *_: chat_reply("Dark roast.")) as api:
        yield api


def openai_chat(api: OpenAiApi, **options: Any) -> OpenAiChat:
    """Return the adapter, with waits too short to matter."""
    return OpenAiChat(OpenAiEndpoint(api.url, **{"backoff_seconds": 0.001, **options}))


@pytest.fixture(params=["fake", "offline", "bedrock", "openai"])
def model(request: pytest.FixtureRequest) -> tuple[ChatModel, str]:
    """Every chat model in turn, with an id that it answers for."""
    if request.param == "fake":
        return FakeChatModel(), "fake"
    if request.param == "offline":
        return OfflineChat(), "offline"
    if request.param == "bedrock":
        return BedrockChat(request.getfixturevalue("bedrock").runtime()), CLAUDE
    return openai_chat(request.getfixturevalue("openai")), GPT


@pytest.mark.parametrize(
    "messages",
    [
        (message(Role.USER, "What coffee should I buy?"),),
        (
            message(Role.USER, "茶が好きです 🍵"),
            message(Role.ASSISTANT, "。"),
            message(Role.USER, "?"),
        ),
        (message(Role.USER, "a"), message(Role.USER, "b")),
        (message(Role.USER, "x" * 100_000),),
    ],
)
def test_an_answer_has_text_usage_a_stop_reason_and_the_model_that_gave_it(
    model: tuple[ChatModel, str], messages: Sequence[Message]
) -> None:
    chat, model_id = model
    answer = chat.answer(
        request(*messages, model_id=model_id, system=("Be brief.", ""), context="[memory] x")
    )
    assert answer.content.strip()
    assert answer.stop_reason in STOP_REASONS
    assert answer.model_id == model_id
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0


# Bedrock


def test_bedrock_gets_system_blocks_up_to_a_cache_point_and_memory_with_the_newest_words(
    bedrock: BedrockApi,
) -> None:
    # When a transcript is sent with system blocks and recalled memory
    BedrockChat(bedrock.runtime()).answer(
        request(
            message(Role.USER, "Hi"),
            message(Role.ASSISTANT, "Hello!"),
            message(Role.USER, "Which?"),
            model_id=CLAUDE,
            system=("base", "", "agent"),
            context="[memory] dark roast",
        )
    )

    # Then the call has this form
    assert bedrock.calls == [
        (
            "eu.anthropic.claude-sonnet-4-20250514-v1:0",
            {
                "system": [
                    {"text": "base"},
                    {"text": "agent"},
                    {"cachePoint": {"type": "default"}},
                ],
                "messages": [
                    {"role": "user", "content": [{"text": "Hi"}]},
                    {"role": "assistant", "content": [{"text": "Hello!"}]},
                    {"role": "user", "content": [{"text": "[memory] dark roast\n\nWhich?"}]},
                ],
                "inferenceConfig": {"maxTokens": 100},
            },
        )
    ]


def test_a_model_that_takes_no_cache_points_gets_none(bedrock: BedrockApi) -> None:
    BedrockChat(bedrock.runtime()).answer(request(model_id=LLAMA, system=("base",)))
    assert bedrock.calls[0][1]["system"] == [{"text": "base"}]


def test_calls_and_all_their_results_stand_in_neighbouring_messages(bedrock: BedrockApi) -> None:
    # Given two parallel calls, one with an empty result
    calls = (ToolCall(id="t1", name="find", arguments={"q": "x"}), ToolCall(id="t2", name="list"))
    transcript = (
        message(Role.USER, "Look it up"),
        message(Role.ASSISTANT, "", tool_calls=calls),
        message(Role.TOOL, "found", tool_call_id="t1"),
        message(Role.TOOL, "", tool_call_id="t2"),
        message(Role.ASSISTANT, "Here."),
        message(Role.USER, "Thanks"),
    )

    # When the transcript is sent
    BedrockChat(bedrock.runtime()).answer(request(*transcript, model_id=CLAUDE))

    # Then roles alternate, each result names its call, and the tools are declared
    body = bedrock.calls[0][1]
    assert [m["role"] for m in body["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert body["messages"][1]["content"] == [
        {"toolUse": {"toolUseId": "t1", "name": "find", "input": {"q": "x"}}},
        {"toolUse": {"toolUseId": "t2", "name": "list", "input": {}}},
    ]
    assert [block["toolResult"]["toolUseId"] for block in body["messages"][2]["content"]] == [
        "t1",
        "t2",
    ]
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["find", "list"]


def test_cached_tokens_count_as_input_and_are_told_apart() -> None:
    api = BedrockApi(
        lambda *_: converse_answer("Yes.", cacheReadInputTokens=900, cacheWriteInputTokens=50)
    )
    answer = BedrockChat(api.runtime()).answer(request(model_id=CLAUDE))
    assert answer.usage == Usage(input_tokens=960, output_tokens=5, cached_tokens=900)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("content_filtered", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("malformed_model_output", "other"),
    ],
)
def test_stop_reasons_of_bedrock_get_the_service_s_names(theirs: str, ours: str) -> None:
    api = BedrockApi(lambda *_: converse_answer("Yes.", theirs))
    assert BedrockChat(api.runtime()).answer(request(model_id=CLAUDE)).stop_reason == ours


def test_a_throttled_call_is_repeated_and_then_told_apart_from_a_failure() -> None:
    # Given a model that is throttled twice, and one that stays throttled
    answers = iter([failure("ThrottlingException", 429)] * 2 + [converse_answer("At last.")])
    recovers = BedrockApi(lambda *_: next(answers))
    stays = BedrockApi(lambda *_: failure("ThrottlingException", 429))

    # Then the first answers after growing waits, and the second says why not
    assert BedrockChat(recovers.runtime()).answer(request(model_id=CLAUDE)).content == "At last."
    assert len(recovers.waits) == 2
    with pytest.raises(ModelThrottledError) as refused:
        BedrockChat(stays.runtime()).answer(request(model_id=CLAUDE))
    assert len(stays.calls) == 3
    assert refused.value.extra["retryable"] is True


@pytest.mark.parametrize(
    ("answer", "retryable"),
    [
        (failure("ValidationException"), False),
        (failure("AccessDeniedException", 403), False),
        (failure("ResourceNotFoundException", 404), False),
        (failure("ServiceUnavailableException", 503), True),
        (failure("ModelTimeoutException", 408), True),
        (failure("UnheardOfException", 500), True),
        (ConnectTimeoutError(endpoint_url="https://bedrock"), True),
    ],
)
def test_a_failure_tells_whether_a_retry_may_help_and_nothing_of_the_provider_s_words(
    answer: Any, retryable: bool
) -> None:
    api = BedrockApi(lambda *_: answer)
    with pytest.raises(ModelError) as failed:
        BedrockChat(api.runtime()).answer(request(model_id=CLAUDE))
    assert not isinstance(failed.value, ModelThrottledError)
    assert failed.value.extra["retryable"] is retryable
    assert "internal words" not in failed.value.detail
    assert len(api.calls) == 1


def test_an_answer_of_bedrock_without_text_is_a_failure() -> None:
    api = BedrockApi(lambda *_: converse_answer("  "))
    with pytest.raises(ModelError, match="without text"):
        BedrockChat(api.runtime()).answer(request(model_id=CLAUDE))


def test_the_time_limit_of_a_request_reaches_the_client(bedrock: BedrockApi) -> None:
    BedrockChat(bedrock.runtime()).answer(request(model_id=CLAUDE, timeout_seconds=42.0))
    assert bedrock.limits == [42.0]


# OpenAI-compatible endpoints


def test_the_endpoint_gets_one_system_message_and_the_transcript_with_calls_and_results(
    openai: OpenAiApi,
) -> None:
    call = ToolCall(id="t1", name="find", arguments={"q": "茶"})
    openai_chat(openai).answer(
        request(
            message(Role.USER, "Hi"),
            message(Role.ASSISTANT, "", tool_calls=(call,)),
            message(Role.TOOL, "found", tool_call_id="t1"),
            message(Role.USER, "Which?"),
            system=("base", "agent"),
            context="[memory] dark roast",
        )
    )
    path, body, _ = openai.requests[0]
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "gpt-4o",
        "max_tokens": 100,
        "messages": [
            {"role": "system", "content": "base\n\nagent"},
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "t1",
                        "type": "function",
                        "function": {"name": "find", "arguments": '{"q": "\\u8336"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "found"},
            {"role": "user", "content": "[memory] dark roast\n\nWhich?"},
        ],
    }


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_use"),
        ("surprise", "other"),
    ],
)
def test_finish_reasons_get_the_service_s_names(openai: OpenAiApi, theirs: str, ours: str) -> None:
    openai.respond = lambda *_: chat_reply("Yes.", theirs)
    assert openai_chat(openai).answer(request()).stop_reason == ours


def test_usage_is_read_with_what_of_it_is_there(openai: OpenAiApi) -> None:
    openai.respond = lambda *_: chat_reply("Yes.", prompt_tokens_details={"cached_tokens": 4})
    assert openai_chat(openai).answer(request()).usage == Usage(
        input_tokens=10, output_tokens=5, cached_tokens=4
    )
    openai.respond = lambda *_: Reply(body={"choices": [{"message": {"content": "Yes."}}]})
    answer = openai_chat(openai).answer(request())
    assert (answer.usage, answer.stop_reason) == (Usage(), "end_turn")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(openai: OpenAiApi, status: int) -> None:
    replies = iter([Reply(status), Reply(status), chat_reply("At last.")])
    openai.respond = lambda *_: next(replies)
    assert openai_chat(openai).answer(request()).content == "At last."


@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (429, {}, ModelThrottledError, True),
        (429, {"code": "insufficient_quota"}, ModelError, False),
        (503, {}, ModelError, True),
        (401, {}, ModelError, False),
        (400, {}, ModelError, False),
        (302, {}, ModelError, False),
    ],
)
def test_a_refusal_tells_throttling_failure_and_hopeless_requests_apart(
    openai: OpenAiApi, status: int, error: dict[str, str], kind: type[Exception], retryable: bool
) -> None:
    openai.respond = lambda *_: Reply(status, {"error": {"message": "internal words", **error}})
    with pytest.raises(ModelError) as failed:
        openai_chat(openai).answer(request())
    assert isinstance(failed.value, ModelThrottledError) is (kind is ModelThrottledError)
    assert failed.value.extra["retryable"] is retryable
    assert "internal words" not in failed.value.detail


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"<html>gateway</html>"),
        Reply(body=b""),
        Reply(body=b"[]"),
        Reply(body={}),
        Reply(body={"choices": []}),
        Reply(body={"choices": [{}]}),
        Reply(body={"choices": [{"message": {"content": ["parts"]}}]}),
        chat_reply(None),
        chat_reply(" "),
        Reply(closes=True),
    ],
)
def test_an_answer_that_can_not_be_used_is_a_retryable_failure(
    openai: OpenAiApi, reply: Reply
) -> None:
    openai.respond = lambda *_: reply
    with pytest.raises(ModelError) as failed:
        openai_chat(openai).answer(request())
    assert failed.value.extra["retryable"] is True


def test_a_slow_endpoint_ends_at_the_time_limit_and_is_not_asked_again(openai: OpenAiApi) -> None:
    # Given an endpoint that does not answer until the test is over
    over = threading.Event()

    def wait(*_: object) -> Reply:
        over.wait(30)
        return chat_reply("Too late.")

    openai.respond = wait
    try:
        # Then the call ends, and its time is not spent a second time
        with pytest.raises(ModelError) as failed:
            openai_chat(openai).answer(request(timeout_seconds=0.2))
        assert "ReadTimeoutError" in failed.value.detail
        assert len(openai.requests) == 1
    finally:
        over.set()


def test_nobody_listening_is_a_retryable_failure() -> None:
    with openai_api(lambda *_: Reply()) as api:
        gone = api.url
    with pytest.raises(ModelError) as failed:
        OpenAiChat(OpenAiEndpoint(gone, backoff_seconds=0.001)).answer(request())
    assert failed.value.extra["retryable"] is True


def test_a_model_that_wants_the_limit_under_its_new_name_gets_it_from_then_on(
    openai: OpenAiApi,
) -> None:
    # Given a model that refuses max_tokens
    def respond(_: str, body: dict[str, Any]) -> Reply:
        if "max_tokens" in body:
            message = "Use 'max_completion_tokens' instead."
            return Reply(400, {"error": {"code": "unsupported_parameter", "message": message}})
        return chat_reply("Yes.")

    openai.respond = respond
    chat = openai_chat(openai)

    # When it is asked twice
    assert chat.answer(request()).content == "Yes."
    assert chat.answer(request()).content == "Yes."

    # Then it refused once
    assert [("max_tokens" in body) for _, body, _ in openai.requests] == [True, False, False]


@pytest.mark.parametrize("setting", ["DEFAULT_MODEL", "EMBEDDER"])
def test_a_configured_model_that_does_not_answer_fails_the_deployment_by_its_setting(
    openai: OpenAiApi, setting: str
) -> None:
    # Given an endpoint that knows no such model
    openai.respond = lambda *_: Reply(404, {"error": {"message": "no such model"}})
    named: dict[str, Any] = {setting.lower(): "openai:misspelt"}
    settings = Settings(table_name="t", openai_base_url=openai.url, **named)

    # Then the check at deployment names the setting and its value
    with pytest.raises(MisconfiguredError) as refused:
        validate(settings)
    assert refused.value.extra["setting"] == setting
    assert "openai:misspelt" in refused.value.detail


# The key


@pytest.mark.parametrize("secret", ["sk-secret-key", '{"api_key": "sk-secret-key"}'])
def test_the_key_is_read_from_the_secret_with_the_first_call(
    openai: OpenAiApi, secret: str
) -> None:
    reads: list[str] = []

    def read(secret_id: str) -> str:
        reads.append(secret_id)
        return secret

    chat = openai_chat(openai, key_secret="model-key", read_secret=read)
    assert reads == []
    chat.answer(request())
    assert reads == ["model-key"]
    assert openai.requests[0][2]["Authorization"] == "Bearer sk-secret-key"


def test_the_key_comes_from_secrets_manager(
    openai: OpenAiApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        boto3.client("secretsmanager").create_secret(Name="model-key", SecretString="sk-from-aws")
        openai_chat(openai, key_secret="model-key").answer(request())
    assert openai.requests[0][2]["Authorization"] == "Bearer sk-from-aws"


def test_an_endpoint_without_key_gets_no_authorization(openai: OpenAiApi) -> None:
    openai_chat(openai).answer(request())
    assert "Authorization" not in openai.requests[0][2]


@pytest.mark.parametrize("secret", ["", " ", "{}", "two\nlines"])
def test_a_secret_without_a_key_is_a_wrong_setting(openai: OpenAiApi, secret: str) -> None:
    chat = openai_chat(openai, key_secret="model-key", read_secret=lambda _: secret)
    with pytest.raises(MisconfiguredError, match="OPENAI_API_KEY_SECRET"):
        chat.answer(request())
    assert openai.requests == []


def test_an_unreadable_secret_names_the_setting_and_not_the_secret(openai: OpenAiApi) -> None:
    def read(_: str) -> str:
        raise RuntimeError("sk-secret-key")

    with pytest.raises(MisconfiguredError) as failed:
        openai_chat(openai, key_secret="model-key", read_secret=read).answer(request())
    assert "OPENAI_API_KEY_SECRET" in failed.value.detail
    assert "sk-secret-key" not in repr(failed.value)
    assert failed.value.__cause__ is None


def test_the_key_is_in_no_error(openai: OpenAiApi) -> None:
    openai.respond = lambda *_: Reply(closes=True)
    chat = openai_chat(openai, key_secret="model-key", read_secret=lambda _: "sk-secret-key")
    with pytest.raises(ModelError) as failed:
        chat.answer(request())
    assert "sk-secret-key" not in f"{failed.value!r} {failed.value.detail} {failed.value.extra}"
