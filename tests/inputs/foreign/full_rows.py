"""Rows of other libraries with every content field of their schemas, as the libraries write them."""

from __future__ import annotations

from typing import Any

PNG = "data:image/png;base64,iVBOR"


def text(value: str = "x") -> dict[str, Any]:
    return {"type": "text", "text": value}


INSPECT: dict[str, Any] = {
    "eval": {"task": "t"},
    "samples": [
        {
            "id": 1,
            "epoch": 1,
            "input": "x",
            "choices": ["x"],
            "target": "x",
            "metadata": {"note": "x"},
            "scores": {"match": {"value": "C", "explanation": "x"}},
            "output": {
                "choices": [{"message": {"role": "assistant", "content": "x"}}] * 2,
                "completion": "x",
                "error": "x",
            },
            "store": {"k": "x"},
            "events": [{"event": "model", "text": "x"}],
            "messages": [
                {"role": "system", "content": "x"},
                {
                    "role": "user",
                    "content": [
                        text(),
                        {"type": "image", "image": PNG, "detail": "auto"},
                        {"type": "audio", "audio": "data:audio/wav;base64,AA", "format": "wav"},
                        {"type": "video", "video": "x.mp4", "format": "mp4"},
                        {"type": "document", "document": "x.pdf", "filename": "x", "mime_type": "application/pdf"},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "reasoning", "reasoning": "x", "summary": "x", "redacted": False},
                        {"type": "reasoning", "reasoning": "x", "summary": "x", "redacted": True},
                        text() | {"citations": [{"type": "url", "cited_text": "x", "title": "x", "url": "http://x"}]},
                        {"type": "text", "text": "x", "refusal": True},
                        {
                            "type": "tool_use",
                            "tool_type": "mcp_call",
                            "id": "u",
                            "name": "n",
                            "context": "x",
                            "arguments": "x",
                            "result": "x",
                            "error": "x",
                        },
                        {"type": "data", "data": {"k": "x"}},
                    ],
                    "tool_calls": [{"id": "c", "function": "look", "arguments": {"at": "x"}, "type": "function"}],
                },
                {
                    "role": "tool",
                    "content": "x",
                    "metadata": {"note": "x"},
                    "tool_call_id": "c",
                    "function": "look",
                    "error": {"type": "timeout", "message": "x"},
                },
                {"role": "tool", "content": [text(), {"type": "image", "image": PNG}], "tool_call_id": "d"},
                {"role": "assistant", "content": "x"},
            ],
        }
    ],
}
CALLED = [{"id": "s", "type": "function", "function": {"name": "look", "arguments": {"at": "x"}}}]
SMOLAGENTS: list[dict[str, Any]] = [
    {"system_prompt": "x"},
    {"task": "x", "task_images": ["iVBOR"]},
    {
        "plan": "x",
        "model_input_messages": [{"role": "user", "content": "x"}],
        "model_output_message": {"role": "assistant", "content": "x", "reasoning_content": "x"},
    },
    {
        "step_number": 1,
        "model_input_messages": [{"role": "user", "content": [text()]}],
        "model_output": "x",
        "model_output_message": {"role": "assistant", "content": "x", "reasoning_content": "x"},
        "tool_calls": CALLED,
        "code_action": "x",
        "observations": "x",
        "observations_images": ["/9j/"],
        "action_output": {"k": "x"},
        "error": None,
        "is_final_answer": False,
    },
    {
        "step_number": 2,
        "model_output": None,
        "model_output_message": {"role": "assistant", "content": [text()], "tool_calls": CALLED},
        "tool_calls": [],
        "observations": None,
        "error": {"type": "AgentParsingError", "message": "x"},
        "is_final_answer": False,
    },
    {
        "step_number": 3,
        "model_output": [text()],
        "tool_calls": None,
        "action_output": "x",
        "is_final_answer": True,
    },
]
GEMINI: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "x"}]},
    "tools": [{"functionDeclarations": [{"name": "look", "description": "x"}]}, {"googleSearch": {"note": "x"}}],
    "generationConfig": {"note": "x"},
    "contents": [
        {
            "role": "user",
            "parts": [
                {"text": "x"},
                {"inlineData": {"mimeType": "image/png", "data": "iVBOR"}},
                {"inlineData": {"mimeType": "audio/wav", "data": "UklG"}, "audioTranscription": {"text": "x"}},
                {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://x", "displayName": "x"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "x", "thought": True},
                {"text": "x", "thoughtSignature": "x"},
                {"functionCall": {"id": "f", "name": "look", "args": {"at": "x"}}},
                {"toolCall": {"id": "g", "toolType": "SEARCH", "args": {"query": "x"}}},
                {"toolResponse": {"id": "g", "toolType": "SEARCH", "response": {"found": "x"}}},
                {"executableCode": {"language": "PYTHON", "code": "x"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "x"}},
                {"thoughtSignature": "x"},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "f",
                        "name": "look",
                        "response": {"output": "x", "error": "x", "more": "x"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBOR"}}],
                    }
                }
            ],
        },
    ],
    "response": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"},
            {"content": {"role": "model", "parts": [{"text": "x"}]}, "groundingMetadata": {"query": "x"}},
        ],
        "usageMetadata": {"trafficType": "x"},
    },
}
OPENHANDS: dict[str, Any] = {
    "instance_id": "i",
    "instruction": "x",
    "test_result": {"git_patch": "x"},
    "error": "x",
    "history": [
        {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": text(), "dynamic_context": text()},
        {
            "kind": "MessageEvent",
            "source": "user",
            "llm_message": {"role": "user", "content": [text(), {"type": "image", "image_urls": [PNG, PNG]}]},
            "extended_content": [text()],
        },
        {
            "kind": "MessageEvent",
            "source": "agent",
            "llm_message": {"role": "assistant", "content": [text()], "reasoning_content": "x"},
            "reasoning_content": "x",
            "thinking_blocks": [{"type": "thinking", "thinking": "x"}],
        },
        {
            "kind": "ActionEvent",
            "source": "agent",
            "summary": "x",
            "thought": [text()],
            "thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "x"}],
            "tool_name": "look",
            "tool_call_id": "o",
            "tool_call": {"id": "o", "name": "look", "arguments": '{"at":"x"}'},
        },
        {
            "kind": "ActionEvent",
            "source": "agent",
            "thought": [],
            "responses_reasoning_item": {"summary": ["x"], "content": ["x"]},
            "action": {"kind": "LookAction", "at": "x"},
            "tool_name": "look",
            "tool_call_id": "p",
        },
        {
            "kind": "ObservationEvent",
            "source": "environment",
            "tool_name": "look",
            "tool_call_id": "o",
            "observation": {"kind": "LookObservation", "content": [text(), {"type": "image", "image_urls": [PNG]}]},
            "extended_content": [text()],
        },
        {
            "kind": "UserRejectObservation",
            "source": "environment",
            "tool_name": "look",
            "tool_call_id": "p",
            "rejection_reason": "x",
        },
        {
            "kind": "ACPToolCallEvent",
            "source": "agent",
            "tool_call_id": "q",
            "title": "look",
            "raw_input": {"at": "x"},
            "raw_output": "x",
            "content": [text()],
        },
        {"kind": "AgentErrorEvent", "source": "agent", "tool_name": "look", "tool_call_id": "q", "error": "x"},
        {"kind": "CondensationSummaryEvent", "source": "environment", "summary": "x"},
        {"kind": "ConversationErrorEvent", "source": "environment", "code": "x", "detail": "x"},
        {"kind": "SecurityAnalysisEvent", "source": "environment", "analyzer": "x", "policy": "x"},
    ],
}
REPLY = {"id": "r", "choices": [{"message": {"role": "assistant", "reasoning_content": "x"}}]}
OPENHANDS_PAIRS: dict[str, Any] = {
    "instance_id": "i",
    "history": [
        [
            {"id": 0, "source": "agent", "action": "system", "args": {"content": "x"}},
            {"id": 1, "source": "user", "action": "message", "args": {"content": "x", "image_urls": [PNG]}},
        ],
        [
            {"id": 2, "source": "user", "action": "recall", "args": {"query": "x"}},
            {
                "id": 3,
                "cause": 2,
                "source": "environment",
                "observation": "recall",
                "content": "x",
                "extras": {
                    "recall_type": "workspace_context",
                    "repo_instructions": "x",
                    "microagent_knowledge": [{"name": "m", "content": "x"}],
                },
            },
        ],
        [
            {
                "id": 4,
                "source": "agent",
                "action": "run",
                "args": {"command": "x", "thought": "x"},
                "tool_call_metadata": {"function_name": "bash", "tool_call_id": "b", "model_response": REPLY},
            },
            {
                "id": 5,
                "cause": 4,
                "source": "agent",
                "observation": "run",
                "content": "x",
                "extras": {"metadata": {"exit_code": 2}, "image_urls": [PNG]},
                "tool_call_metadata": {"function_name": "bash", "tool_call_id": "b"},
                "success": False,
            },
        ],
        [
            {
                "id": 6,
                "source": "agent",
                "action": "browse",
                "args": {"url": "x", "thought": {"text": "x", "reasoning_content": "x"}},
            },
            {
                "id": 7,
                "cause": 6,
                "source": "agent",
                "observation": "browse",
                "content": "x",
                "extras": {"screenshot": PNG, "set_of_marks": PNG, "dom_object": {"k": "x"}},
            },
        ],
        [
            {"id": 8, "source": "agent", "action": "delegate", "args": {"agent": "x", "inputs": {"task": "x"}}},
            {
                "id": 9,
                "cause": 8,
                "source": "agent",
                "observation": "delegate",
                "content": "x",
                "extras": {"outputs": {"content": "x"}},
            },
        ],
        [
            {"id": 10, "source": "agent", "action": "think", "args": {"thought": "x"}},
            {
                "id": 11,
                "source": "environment",
                "observation": "agent_state_changed",
                "content": "",
                "extras": {"agent_state": "error", "reason": "x"},
            },
        ],
        [
            {
                "id": 12,
                "source": "agent",
                "action": "finish",
                "args": {"final_thought": "x", "thought": "x", "outputs": {"answer": "x"}},
            },
            {"id": 13, "source": "agent", "observation": "error", "content": "x", "extras": {"error_id": "e"}},
        ],
    ],
}
NEMO_GYM: dict[str, Any] = {
    "responses_create_params": {
        "instructions": "x",
        "input": [
            {"role": "system", "type": "message", "content": "x"},
            {
                "role": "user",
                "type": "message",
                "content": [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": PNG}],
            },
        ],
        "tools": [{"type": "function", "name": "look", "description": "x", "parameters": {}}],
        "metadata": {"k": "x"},
    },
    "response": {
        "object": "response",
        "error": {"code": "x", "message": "x"},
        "incomplete_details": {"reason": "x"},
        "output": [
            {"type": "reasoning", "id": "a", "summary": [{"type": "summary_text", "text": "x"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
            {"type": "function_call", "call_id": "n", "name": "look", "arguments": "x"},
            {"type": "function_call_output", "call_id": "n", "output": "x"},
            {"type": "mcp_call", "id": "m", "name": "search", "arguments": "x", "output": "x", "error": "x"},
            {"type": "code_interpreter_call", "id": "c", "code": "x", "outputs": [{"type": "logs", "logs": "x"}]},
            {"role": "user", "content": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "x"}]},
        ],
    },
    "reward": 0.5,
    "_ng_task_index": 0,
    "expected_answer": "x",
}
VERIFIERS: dict[str, Any] = {
    "example_id": 0,
    "prompt": [{"role": "system", "content": "x"}, {"role": "user", "content": "x"}],
    "completion": [
        {
            "role": "assistant",
            "content": "x",
            "reasoning_content": "x",
            "tool_calls": [{"id": "v", "name": "look", "arguments": "x"}],
        },
        {"role": "tool", "content": [text()], "tool_call_id": "v"},
        {"role": "assistant", "content": "x"},
    ],
    "answer": "x",
    "info": {"k": "x"},
    "tool_defs": [{"name": "look", "description": "x", "parameters": {}}],
    "stop_condition": "x",
}
NODES = [{"parent": None, "message": {"role": "user", "content": "x"}}] + [
    {"parent": at, "sampled": True, "message": {"role": "assistant", "content": "x", "reasoning_content": "x"}}
    for at in (0, 0)
]
VERIFIERS_TRACES: dict[str, Any] = {
    "env": {"id": "e"},
    "task": {"type": "T", "key": "k", "data": {"prompt": "x"}},
    "traces": [
        {
            "nodes": NODES,
            "agent": {"name": "agent"},
            "tools": [{"name": "look", "description": "x", "parameters": {}}],
            "rewards": {"right": {"score": 0.5, "weight": 2.0}},
            "ok": True,
            "info": {"note": "x"},
        }
    ],
}
SWE_AGENT: dict[str, Any] = {
    "history": [
        {"role": "system", "content": "x", "message_type": "system_prompt"},
        {"role": "user", "content": [text()], "message_type": "observation"},
        {
            "role": "assistant",
            "content": "x",
            "message_type": "action",
            "thought": "x",
            "action": "x",
            "agent": "x",
            "thinking_blocks": [{"type": "thinking", "thinking": "x"}],
            "tool_calls": [{"id": "w", "type": "function", "function": {"name": "bash", "arguments": "x"}}],
        },
        {"role": "tool", "content": "x", "tool_call_ids": ["w"], "message_type": "observation"},
    ],
    "trajectory": [{"response": "x", "observation": "x", "state": {"working_dir": "x"}}],
    "info": {"submission": "x"},
}
ATIF: dict[str, Any] = {
    "schema_version": "ATIF-v1.8",
    "session_id": "s",
    "agent": {"name": "a", "version": "1", "tool_definitions": [{"type": "function", "function": {"name": "look"}}]},
    "notes": "x",
    "steps": [
        {"step_id": 1, "source": "system", "message": "x"},
        {
            "step_id": 2,
            "source": "user",
            "message": [text(), {"type": "image", "source": {"media_type": "image/png", "path": "x.png"}}],
        },
        {
            "step_id": 3,
            "source": "agent",
            "message": "x",
            "reasoning_content": "x",
            "extra": {"k": "x"},
            "tool_calls": [
                {"tool_call_id": "h", "function_name": "look", "arguments": {"at": "x"}, "extra": {"k": "x"}}
            ],
            "observation": {
                "extra": {"k": "x"},
                "results": [
                    {"source_call_id": "h", "content": "x", "extra": {"k": "x"}},
                    {"content": [text(), {"type": "audio", "source": {"media_type": "audio/wav", "path": "x.wav"}}]},
                    {"content": None, "subagent_trajectory_ref": [{"trajectory_path": "x.json"}]},
                ],
            },
        },
    ],
    "subagent_trajectories": [{"trajectory_id": "t", "steps": [{"step_id": 1, "message": "x"}]}],
}
TAU2: dict[str, Any] = {
    "info": {"environment_info": {"domain_name": "d", "policy": "x"}},
    "simulations": [
        {
            "task_id": "0",
            "reward_info": {"reward": 1.0, "nl_assertions": [{"justification": "x"}]},
            "policy": "x",
            "messages": [
                {"role": "assistant", "content": "x", "turn_idx": 0, "raw_data": {"k": "x"}},
                {
                    "role": "user",
                    "content": None,
                    "turn_idx": 1,
                    "tool_calls": [{"id": "u", "name": "look", "arguments": {"at": "x"}, "requestor": "user"}],
                },
                {"role": "tool", "id": "u", "content": "x", "requestor": "user", "error": False, "turn_idx": 2},
                {"role": "tool", "tool_messages": [{"role": "tool", "id": "t", "content": "x", "requestor": "user"}]},
                {"role": "user", "content": "UklG", "is_audio": True, "audio_script_gold": "x", "turn_idx": 3},
            ],
        }
    ],
}
AGENTDOJO: dict[str, Any] = {
    "suite_name": "s",
    "user_task_id": "u",
    "injection_task_id": None,
    "injections": {"k": "x"},
    "error": "x",
    "messages": [
        {"role": "user", "content": [{"type": "text", "content": "x"}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "content": "x", "id": None}, {"type": "text", "content": "x"}],
            "tool_calls": [{"function": "look", "args": {"at": "x"}, "id": "d"}],
        },
        {
            "role": "tool",
            "content": [{"type": "text", "content": "x"}],
            "tool_call_id": "d",
            "tool_call": {"function": "look", "args": {"at": "x"}, "id": "d"},
            "error": "x",
        },
    ],
}
PREFERENCE: dict[str, Any] = {
    "system": "x",
    "prompt": "x",
    "chosen": [{"role": "assistant", "content": "x"}],
    "rejected": "x",
    "margin": "x",
}
SHAREGPT: dict[str, Any] = {
    "system": "x",
    "conversations": [
        {"from": "human", "value": "x"},
        {"from": "function_call", "value": {"name": "look", "arguments": {"at": "x"}}},
        {"from": "observation", "value": "x"},
    ],
    "chosen": [{"from": "gpt", "value": "x"}],
    "rejected": {"from": "gpt", "value": "x"},
    "images": ["x.png"],
}
PYDANTIC_AI: dict[str, Any] = {
    "trajectories": [
        {
            "messages": [
                {"kind": "request", "metadata": {"k": "x"}, "parts": [{"part_kind": "user-prompt", "content": "x"}]},
                {
                    "kind": "response",
                    "provider_details": {"k": "x"},
                    "metadata": {"k": "x"},
                    "parts": [
                        {"part_kind": "thinking", "content": "x", "provider_details": {"k": "x"}},
                        {"part_kind": "text", "content": "x", "provider_details": {"k": "x"}},
                        {"part_kind": "tool-call", "tool_name": "look", "args": {"at": "x"}, "tool_call_id": "p"},
                    ],
                },
                {
                    "kind": "request",
                    "parts": [
                        {
                            "part_kind": "tool-return",
                            "tool_name": "look",
                            "content": "x",
                            "metadata": {"k": "x"},
                            "tool_call_id": "p",
                        }
                    ],
                },
            ]
        }
    ]
}
LANGCHAIN: dict[str, Any] = {
    "trajectories": [
        {
            "messages": [
                {"type": "human", "content": "x", "response_metadata": {}},
                {
                    "type": "ai",
                    "content": "x",
                    "additional_kwargs": {"reasoning_content": "x", "refusal": "x"},
                    "response_metadata": {"model_name": "x"},
                    "usage_metadata": {"service_tier": "x"},
                    "tool_calls": [{"id": "l", "name": "look", "args": {"at": "x"}, "type": "tool_call"}],
                    "invalid_tool_calls": [{"id": "m", "name": "look", "args": "x", "type": "invalid_tool_call"}],
                },
                {"type": "tool", "content": "x", "artifact": {"k": "x"}, "tool_call_id": "l", "status": "success"},
            ]
        }
    ]
}
CODEX: list[Any] = [
    {"timestamp": "x", "type": "session_meta", "payload": {"id": "s", "cwd": "x", "base_instructions": {"text": "x"}}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
    },
    {"type": "event_msg", "payload": {"type": "user_message", "message": "x"}},
    {
        "type": "response_item",
        "payload": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}], "encrypted_content": "x"},
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "run", "arguments": "x", "call_id": "c"},
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "x"}},
    {
        "type": "response_item",
        "payload": {"type": "local_shell_call", "call_id": "d", "status": "completed", "action": {"command": ["x"]}},
    },
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
    },
]
ADK_SESSION: dict[str, Any] = {
    "id": "s",
    "appName": "x",
    "state": {"k": "x"},
    "events": [
        {"author": "user", "invocationId": "i", "content": {"role": "user", "parts": [{"text": "x"}]}},
        {"author": "bot", "invocationId": "i", "content": {"role": "model", "parts": [{"text": "x"}]}},
    ],
}
