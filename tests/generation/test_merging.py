"""An FSDP checkpoint merged by verl's own merger: two ranks' shards on a CPU, and what is said where that cannot be."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.errors import ConfigError
from calipers.generation.merging import merge_checkpoint

_SHARD = """
import json, os, sys
from pathlib import Path
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = Path(sys.argv[1])
torch.manual_seed(0)
config = LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
model = LlamaForCausalLM(config).bfloat16()
rank = int(sys.argv[2])
torch.distributed.init_process_group("gloo", init_method=f"file://{folder.parent}/meeting", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("fsdp",))
shards = {name: distribute_tensor(value, mesh, [Shard(0)]) for name, value in model.state_dict().items()}
torch.save(shards, folder / f"model_world_size_2_rank_{rank}.pt")
if rank == 0:
    (folder / "fsdp_config.json").write_text(json.dumps({"world_size": 2}))
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(folder / "huggingface")
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder / "huggingface")
    model.save_pretrained(folder.parent.parent / "whole")
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""
_LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
_COMPARE = """
import sys
import torch
from transformers import AutoModelForCausalLM
whole, merged = (AutoModelForCausalLM.from_pretrained(folder).state_dict() for folder in sys.argv[1:])
assert whole.keys() == merged.keys() and all(torch.equal(whole[name], merged[name]) for name in whole)
print(len(whole))
"""


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_shards_of_two_ranks_become_the_model_they_were(tmp_path: Path) -> None:
    for package in ("verl", "torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install verl")
    actor = tmp_path / "global_step_1" / "actor"
    actor.mkdir(parents=True)
    (tmp_path / "shard.py").write_text(_SHARD, encoding="utf-8")
    ranks = [
        subprocess.Popen([sys.executable, str(tmp_path / "shard.py"), str(actor), rank], env=os.environ | _LOOPBACK)
        for rank in ("0", "1")
    ]
    assert [rank.wait(timeout=200) for rank in ranks] == [0, 0]
    target = str(tmp_path / "merged")
    assert merge_checkpoint(str(actor.parent), target) == target
    compare = [sys.executable, "-c", _COMPARE, str(actor.parent.parent / "whole"), target]
    assert int(subprocess.run(compare, check=True, capture_output=True, timeout=200).stdout.split()[-1]) > 5
    (actor / "fsdp_config.json").unlink()
    assert merge_checkpoint(str(actor), target) == target  # it is there already
    with pytest.raises(ConfigError, match=r"verl's merger could not merge .* its last output: .*fsdp_config.json"):
        merge_checkpoint(str(actor), str(tmp_path / "again"))


def test_a_folder_without_shards_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no FSDP checkpoint .*global_step_100/actor"):
        merge_checkpoint(str(tmp_path), str(tmp_path / "merged"))


def test_without_verl_the_remedy_is_named(tmp_path: Path) -> None:
    if importlib.util.find_spec("verl") is not None:
        pytest.skip("verl is installed")
    (tmp_path / "model_world_size_1_rank_0.pt").touch()
    with pytest.raises(ConfigError, match="pip install verl"):
        merge_checkpoint(str(tmp_path), str(tmp_path / "merged"))


def test_a_model_that_is_there_is_not_merged_again(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({}), encoding="utf-8")
    (tmp_path / "model.safetensors").touch()
    assert merge_checkpoint(str(tmp_path / "nothing"), str(tmp_path)) == str(tmp_path)
