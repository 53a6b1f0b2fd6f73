"""Messages of other libraries in their own schemas. Every text that a judge has to see begins with ``say``."""

from __future__ import annotations

from typing import Any

IMAGE = "data:image/png;base64,AAAA"
BEDROCK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": "say question"}, {"cachePoint": {"type": "default"}}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "say thought", "signature": "x"}}},
            {"text": "say text"},
            {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"at": "say argument"}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "toolResult": {
                    "toolUseId": "t1",
                    "status": "error",
                    "content": [
                        {"text": "say result"},
                        {"json": {"code": "say json"}},
                        {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
                    ],
                }
            },
            {"document": {"format": "txt", "name": "d", "source": {"text": "say document"}}},
            {"guardContent": {"text": {"text": "say guarded"}}},
            {"searchResult": {"source": "u", "title": "say title", "content": [{"text": "say found"}]}},
        ],
    },
    {"role": "assistant", "content": [{"citationsContent": {"content": [{"text": "say cited"}], "citations": []}}]},
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "say question"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
    {
        "role": "model",
        "parts": [
            {"text": "say thought", "thought": True},
            {"text": "say text"},
            {"functionCall": {"name": "look", "args": {"at": "say argument"}}, "thoughtSignature": "x"},
            {"function_call": {"name": "look", "args": {"at": "say second"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "look", "response": {"output": "say result"}}},
            {"function_response": {"name": "look", "response": {"error": "say failure"}}},
        ],
    },
    {
        "role": "model",
        "parts": [
            {"executableCode": {"language": "PYTHON", "code": "say code"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "say printed"}},
            {"text": "say answer"},
        ],
    },
]
AGENTDOJO: list[dict[str, Any]] = [
    {"role": "system", "content": [{"type": "text", "content": "say rules"}]},
    {"role": "user", "content": [{"type": "text", "content": "say question"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "content": "say thought", "id": None},
            {"type": "text", "content": "say text"},
        ],
        "tool_calls": [{"function": "look", "args": {"at": "say argument"}, "id": "d1", "placeholder_args": None}],
    },
    {
        "role": "tool",
        "content": [{"type": "text", "content": ""}],
        "tool_call_id": "d1",
        "tool_call": {"function": "look", "args": {"at": "say argument"}, "id": "d1", "placeholder_args": None},
        "error": "say failure",
    },
    {"role": "assistant", "content": [{"type": "text", "content": "say answer"}], "tool_calls": None},
]
SHAREGPT: list[dict[str, Any]] = [
    {"from": "system", "value": "say rules"},
    {"from": "human", "value": "say question"},
    {"from": "function_call", "value": '{"name": "look", "arguments": {"at": "say argument"}}'},
    {"from": "observation", "value": "say result"},
    {"from": "gpt", "value": "say answer", "weight": 1},
]
PYDANTIC_AI: list[dict[str, Any]] = [
    {
        "kind": "request",
        "instructions": "say instructions",
        "parts": [
            {"part_kind": "system-prompt", "content": "say rules"},
            {
                "part_kind": "user-prompt",
                "content": ["say question", {"kind": "binary", "data": "AAAA", "media_type": "image/png"}],
            },
        ],
    },
    {
        "kind": "response",
        "parts": [
            {"part_kind": "thinking", "content": "say thought", "signature": None},
            {"part_kind": "text", "content": "say text"},
            {"part_kind": "tool-call", "tool_name": "look", "args": {"at": "say argument"}, "tool_call_id": "p1"},
        ],
    },
    {
        "kind": "request",
        "parts": [
            {"part_kind": "tool-return", "tool_name": "look", "content": {"is": "say result"}, "tool_call_id": "p1"},
            {"part_kind": "retry-prompt", "tool_name": "look", "content": "say retry", "tool_call_id": "p1"},
            {"part_kind": "retry-prompt", "tool_name": None, "content": "say again", "tool_call_id": "p2"},
        ],
    },
]
SMOLAGENTS: list[dict[str, Any]] = [
    {"system_prompt": "say rules"},
    {"task": "say question", "task_images": None},
    {"plan": "say plan", "model_input_messages": [], "model_output_message": {"role": "assistant", "content": "x"}},
    {
        "step_number": 1,
        "model_output": "say thought",
        "tool_calls": [
            {"id": "s1", "type": "function", "function": {"name": "look", "arguments": {"at": "say argument"}}}
        ],
        "observations": "say result",
        "action_output": None,
        "error": {"type": "AgentExecutionError", "message": "say failure"},
        "is_final_answer": False,
    },
    {"step_number": 2, "model_output": "say last", "tool_calls": [], "action_output": "say answer",
     "observations": None, "error": None, "is_final_answer": True},
    {"output": "say answer"},
]  # fmt: skip
MCP: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}},
    {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "capabilities": {}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "look", "arguments": {"at": "say argument"}},
    },
    {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "say result"}], "isError": False}},
    {"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "say address"}},
    {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "say failure"}},
]
TAU2: list[dict[str, Any]] = [
    {"role": "user", "content": "say question", "turn_idx": 0, "timestamp": "t", "cost": 0.0, "usage": None},
    {
        "role": "assistant",
        "content": None,
        "turn_idx": 1,
        "tool_calls": [{"id": "u1", "name": "look", "arguments": {"at": "say argument"}, "requestor": "assistant"}],
    },
    {"role": "tool", "id": "u1", "content": "say result", "requestor": "assistant", "error": True, "turn_idx": 2},
    {"role": "tool", "tool_messages": [{"role": "tool", "id": "u2", "content": "say second", "requestor": "user"}]},
]
OPENHANDS: list[dict[str, Any]] = [
    {
        "kind": "SystemPromptEvent",
        "source": "agent",
        "system_prompt": {"type": "text", "text": "say rules"},
        "tools": [],
    },
    {
        "kind": "MessageEvent",
        "source": "user",
        "llm_message": {
            "role": "user",
            "content": [{"type": "text", "text": "say question"}, {"type": "image", "image_urls": [IMAGE]}],
        },
        "extended_content": [{"type": "text", "text": "say more"}],
    },
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"type": "text", "text": "say thought"}],
        "reasoning_content": "say reasoning",
        "tool_name": "look",
        "tool_call_id": "o1",
        "tool_call": {"id": "o1", "name": "look", "arguments": '{"at":"say argument"}', "origin": "completion"},
    },
    {"kind": "ConversationStateUpdateEvent", "source": "environment", "key": "k", "value": "v"},
    {
        "kind": "ObservationEvent",
        "source": "environment",
        "tool_name": "look",
        "tool_call_id": "o1",
        "observation": {
            "kind": "TerminalObservation",
            "content": [{"type": "text", "text": "say result"}],
            "is_error": False,
        },
    },
    {"kind": "AgentErrorEvent", "source": "agent", "tool_name": "look", "tool_call_id": "o2", "error": "say failure"},
]
OPENHANDS_SERVER: list[dict[str, Any]] = [
    {"id": 0, "source": "user", "action": "message", "args": {"content": "say question", "image_urls": None}},
    {"id": 1, "source": "agent", "action": "run", "args": {"command": "say argument", "thought": "say thought"}},
    {"id": 2, "source": "agent", "observation": "run", "content": "say result", "extras": {}, "cause": 1},
    {"id": 3, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
    {"id": 4, "source": "agent", "action": "finish", "args": {"final_thought": "say answer", "outputs": {}}},
]
ATIF: list[dict[str, Any]] = [
    {"step_id": 1, "source": "system", "message": "say rules"},
    {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "say question"}]},
    {
        "step_id": 3,
        "source": "agent",
        "message": "say text",
        "reasoning_content": "say thought",
        "tool_calls": [{"tool_call_id": "h1", "function_name": "look", "arguments": {"at": "say argument"}}],
        "observation": {"results": [{"source_call_id": "h1", "content": "say result"}]},
        "metrics": {"prompt_tokens": 3},
    },
]
CLAUDE_CODE: list[dict[str, Any]] = [
    {"type": "summary", "summary": "a title", "leafUuid": "u"},
    {"type": "user", "sessionId": "s", "uuid": "a", "message": {"role": "user", "content": "say question"}},
    {
        "type": "assistant",
        "sessionId": "s",
        "uuid": "b",
        "message": {"role": "assistant", "type": "message", "content": [{"type": "text", "text": "say answer"}]},
    },
]
AI_SDK: list[dict[str, Any]] = [
    {
        "id": "u",
        "role": "user",
        "parts": [
            {"type": "text", "text": "say question"},
            {"type": "file", "mediaType": "image/png", "url": IMAGE},
        ],
    },
    {
        "id": "a",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "say thought", "state": "done"},
            {"type": "text", "text": "say text"},
            {
                "type": "tool-look",
                "toolCallId": "t1",
                "state": "output-available",
                "input": {"at": "say argument"},
                "output": {"found": "say result"},
            },
            {
                "type": "dynamic-tool",
                "toolName": "seek",
                "toolCallId": "t2",
                "state": "output-error",
                "input": {"at": "say second"},
                "errorText": "say error",
            },
            {
                "type": "tool-invocation",
                "toolInvocation": {
                    "state": "result",
                    "toolCallId": "t3",
                    "toolName": "look",
                    "args": {"at": "say third"},
                    "result": "say old",
                },
            },
            {"type": "source-url", "sourceId": "s", "url": "https://x", "title": "say title"},
            {"type": "data-chart", "data": {"of": "say data"}},
            {"type": "text", "text": "say answer"},
        ],
    },
]
OTEL: list[dict[str, Any]] = [
    {
        "role": "user",
        "parts": [
            {"type": "text", "content": "say question"},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"},
            {"type": "uri", "modality": "image", "uri": "https://x/say.png"},
        ],
    },
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "say thought"},
            {"type": "tool_call", "id": "t1", "name": "look", "arguments": {"at": "say argument"}},
        ],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "t1", "response": {"found": "say result"}}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "say answer"}], "finish_reason": "length"},
]
ADK: list[dict[str, Any]] = [
    {"author": "user", "invocationId": "i", "content": {"role": "user", "parts": [{"text": "say question"}]}},
    {"author": "bot", "invocationId": "i", "partial": True, "content": {"role": "model", "parts": [{"text": "half"}]}},
    {
        "author": "bot",
        "invocationId": "i",
        "content": {
            "role": "model",
            "parts": [
                {"text": "say thought", "thought": True},
                {"functionCall": {"id": "t1", "name": "look", "args": {"at": "say argument"}}},
            ],
        },
    },
    {
        "author": "bot",
        "invocation_id": "i",
        "content": {
            "role": "user",
            "parts": [{"function_response": {"id": "t1", "name": "look", "response": {"output": "say result"}}}],
        },
    },
    {"author": "bot", "invocationId": "i", "content": None, "actions": {"stateDelta": {"a": 1}}},
    {"author": "bot", "invocationId": "i", "errorCode": "X", "errorMessage": "say error"},
    {"author": "bot", "invocationId": "i", "outputTranscription": {"text": "say spoken"}},
]
AI_SDK_MODEL: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "say question"},
            {"type": "file", "data": "QUJD", "mediaType": "application/pdf", "filename": "say file"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "say thought"},
            {"type": "text", "text": "say text"},
            {"type": "tool-call", "toolCallId": "t1", "toolName": "look", "input": {"at": "say argument"}},
            {"type": "tool-call", "toolCallId": "t2", "toolName": "seek", "args": {"at": "say second"}},
            {"type": "tool-call", "toolCallId": "t3", "toolName": "ask", "input": {}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "t1",
                "toolName": "look",
                "output": {
                    "type": "content",
                    "value": [
                        {"type": "text", "text": "say result"},
                        {"type": "media", "data": "AAAA", "mediaType": "image/png"},
                    ],
                },
            },
            {
                "type": "tool-result",
                "toolCallId": "t2",
                "toolName": "seek",
                "result": {"is": "say old"},
                "isError": True,
            },
            {
                "type": "tool-result",
                "toolCallId": "t3",
                "toolName": "ask",
                "output": {"type": "execution-denied", "reason": "say no"},
            },
        ],
    },
    {"role": "assistant", "content": "say answer"},
]
DIALECTS = {
    "ai_sdk": AI_SDK,
    "ai_sdk_model": AI_SDK_MODEL,
    "otel": OTEL,
    "adk": ADK,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "agentdojo": AGENTDOJO,
    "sharegpt": SHAREGPT,
    "pydantic_ai": PYDANTIC_AI,
    "smolagents": SMOLAGENTS,
    "mcp": MCP,
    "tau2": TAU2,
    "openhands": OPENHANDS,
    "openhands_server": OPENHANDS_SERVER,
    "atif": ATIF,
    "claude_code": CLAUDE_CODE,
}
