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
VERL: dict[str, Any] = {"input": "x", "output": "x", "gts": "x", "score": 1.0, "step": 3, "uid": "u", "acc": "x"}
CALL: dict[str, Any] = {"id": "t", "type": "function", "function": {"name": "look", "arguments": "x"}}
TAU_BENCH: dict[str, Any] = {
    "task_id": 0,
    "trial": 1,
    "reward": 1.0,
    "info": {"source": "x"},
    "traj": [
        {"role": "system", "content": "x"},
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "x", "tool_calls": [CALL], "function_call": None},
        {"role": "tool", "tool_call_id": "t", "name": "look", "content": "x"},
    ],
}
ART: dict[str, Any] = {
    "messages_and_choices": [
        {"role": "user", "content": "x"},
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x", "reasoning": "x"}},
    ],
    "additional_histories": [{"messages_and_choices": [{"role": "assistant", "content": "x"}], "tools": None}],
    "reward": 0.5,
    "metrics": {"acc": 1.0},
    "metadata": {"note": "x"},
    "logs": ["x"],
    "group_index": 3,
}
EXCHANGES: dict[str, Any] = {
    "exchanges": {
        "chat_completions": [
            {
                "request": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
                "response": {"choices": [{"message": {"role": "assistant", "content": "x"}}]},
            }
        ]
    },
    "reward": 0.5,
}
MS_SWIFT: dict[str, Any] = {
    "gen_step": [1, 1],
    "prompt": ["x", "x"],
    "completion": ["x", "x"],
    "accuracy": [1.0, 0.0],
    "advantages": [1.0, -1.0],
}
MESSAGES: dict[str, Any] = {
    "group_id": "g",
    "system": "x",
    "messages": [
        {"role": "user", "content": [text(), {"type": "image", "source": {"type": "base64", "data": "x"}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, text()]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"at": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": True}]},
        {"role": "tool", "tool_call_id": "a", "content": [text()], "structuredContent": {"a": "x"}},
    ],
    "tools": [{"name": "look", "description": "x", "input_schema": {}}],
    "note": "x",
}
