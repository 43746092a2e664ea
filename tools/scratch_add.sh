#!/usr/bin/env bash
# tools/scratch_add.sh [FOLDER]   adds an op, a model family and a data format to a scratch copy of
# the last commit, builds it, runs their tests and counts the files that were touched. Fails when a
# count is larger than CONTRIBUTING.md says (op 3, model 1, format 1) or a test does not pass.
# FOLDER (a temporary one by default) keeps the copy and its build.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
folder=${1:-$(mktemp -d)}
tree=$folder/tree
jobs=${JOBS:-$(nproc)}
mkdir -p "$folder"
rm -rf "$tree"
git clone -q --no-hardlinks "$source" "$tree"
cd "$tree"

count() {  # what, most: counts what the working tree changed, then commits it
  git add -A
  local n
  n=$(git diff --cached --name-only | wc -l)
  echo "$1: $n files touched (at most $2)"
  git diff --cached --stat | sed '$d'
  git -c user.name=scratch -c user.email=scratch@localhost commit -q -m "$1"
  [ "$n" -le "$2" ] || { echo "more files than CONTRIBUTING.md says" >&2; exit 1; }
}

# An op: tanh_shrink(x) = x - tanh(x).
cat >src/engine/ops/tanh_shrink.cc <<'CC'
// tanh_shrink(x) = x - tanh(x), elementwise on floating-point x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Values decompose(Builder& b, const NodeView& n) {
  return {ops::sub(b, n.input(0), ops::tanh(b, n.input(0)))};
}

Values grad(Builder& b, const NodeView& n, const Values& d) {  // d/dx = tanh(x)^2
  ValueId t = ops::tanh(b, n.input(0));
  return {ops::mul(b, d[0], ops::mul(b, t, t))};
}

Cost cost(const NodeView& n) { return elementwise(n, 13); }

}  // namespace

Op define_tanh_shrink() { return {"tanh_shrink", same_as_first, decompose, grad, cost, {0}}; }

ValueId ops::tanh_shrink(Builder& b, ValueId x) { return b.emit1("tanh_shrink", {x}); }

}  // namespace hone
CC
sed -i 's/^ValueId gelu(Builder& b, ValueId x);.*/&\nValueId tanh_shrink(Builder\& b, ValueId x);/' src/engine/ops/ops.h
sed 's/\bsilu\b/tanh_shrink/g' tests/ops/silu.case >tests/ops/tanh_shrink.case
count "an op" 3

# A model family: learned positions, pre-norm blocks, separate q, k, v, ReLU.
cat >src/learn/models/scratch.cc <<'CC'
// A decoder with learned positions, pre-norm blocks, separate q, k, v with biases, ReLU; tied head.
// Linear weights are [out, in].
#include "learn/models/errors.h"
#include "learn/models/family.h"

namespace hone {
namespace {

Status read_config(ModelConfig& c) {
  c.vocab = HONE_TRY(c.integer("vocab_size"));
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = c.kv_heads = HONE_TRY(c.integer("num_attention_heads"));
  c.max_positions = HONE_TRY(c.integer("max_position_embeddings"));
  if (c.heads < 1 || c.hidden % c.heads != 0)
    return Error(err::kBadConfig, fmt::format("config.json: hidden_size {} is not a multiple of num_attention_heads {}",
                                              c.hidden, c.heads));
  c.head_dim = c.hidden / c.heads;
  return Ok{};
}

std::vector<ParamSpec> params(const ModelConfig& c) {
  using Init = ParamSpec::Init;
  const int64_t C = c.hidden, F = 4 * C;
  std::vector<ParamSpec> list{{"model.embed_tokens.weight", {c.vocab, C}},
                              {"model.embed_positions.weight", {c.max_positions, C}}};
  auto norm = [&](const std::string& at) {
    list.push_back({at + ".weight", {C}, Init::ones, 0, false});
    list.push_back({at + ".bias", {C}, Init::zeros, 0, false});
  };
  auto linear = [&](const std::string& at, int64_t out, int64_t in) {
    list.push_back({at + ".weight", {out, in}});
    list.push_back({at + ".bias", {out}, Init::zeros, 0, false});
  };
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string h = fmt::format("model.layers.{}.", i);
    norm(h + "norm_1");
    for (const char* name : {"q", "k", "v", "o"}) linear(h + name, C, C);
    norm(h + "norm_2");
    linear(h + "up", F, C);
    linear(h + "down", C, F);
  }
  norm("model.norm");
  return list;
}

ValueId body(ModelGraph& g) {
  Builder& b = g.b;
  auto norm = [&](const std::string& at, ValueId x) {
    return ops::layer_norm(b, x, g.param(at + ".weight"), g.param(at + ".bias"), 1e-5).y;
  };
  auto linear = [&](const std::string& at, ValueId x, ValueId residual = kNoValue) {
    return ops::linear(b, x, g.param(at + ".weight"),
                       {.bias = g.param(at + ".bias"), .residual = residual, .trans_w = true});
  };
  ValueId x = ops::add(b, ops::embedding(b, g.param("model.embed_tokens.weight"), g.ids),
                       ops::embedding(b, g.param("model.embed_positions.weight"), g.positions));  // [T,C]
  const double scale = 1 / std::sqrt(static_cast<double>(g.config.head_dim));
  for (int64_t i = 0; i < g.config.layers; ++i) {
    Builder::Scope block(b, fmt::format("h.{}", i));
    const std::string h = fmt::format("model.layers.{}.", i);
    ValueId y = norm(h + "norm_1", x);
    ValueId a = g.self_attention(i, linear(h + "q", y), linear(h + "k", y), linear(h + "v", y), scale, 0);
    x = linear(h + "o", a, x);
    x = linear(h + "down", ops::relu(b, linear(h + "up", norm(h + "norm_2", x))), x);  // [T,F] inside
  }
  return norm("model.norm", x);
}

HeadLayer head(ModelGraph& g, ValueId hidden) { return {hidden, g.param("model.embed_tokens.weight")}; }

}  // namespace

Family family_scratch() {
  return {.name = "scratch",
          .model_types = {"scratch"},
          .heads = {{Head::causal_lm, "ScratchForCausalLM"}},
          .read_config = read_config,
          .params = params,
          .body = body,
          .head = head};
}

}  // namespace hone
CC
count "a model family" 1

# A data format: values between bars.
cat >src/learn/data/formats/psv.cc <<'CC'
// .psv: separated by '|', header required; quotes count only where they balance (separated.h).
#include "learn/data/formats/separated.h"

namespace hone {

Format format_psv() {
  return {"psv", {"psv"}, "separated by bars, with a header",
          [](std::unique_ptr<Source> source, const RowOptions& options) {
            return open_separated(std::move(source), '|', Quoting::kWhenBalanced, options);
          },
          true};
}

}  // namespace hone
CC
count "a data format" 1

tools/setup.sh check
cmake --preset cpu ${HONE_PYTHON:+-DHONE_PYTHON=$HONE_PYTHON} >configure.log || { cat configure.log; exit 1; }
nice ninja -C build/cpu -j "$jobs" hone engine_backends_reference_test \
  engine_backends_cpu_test learn_data_formats_test >build.log || { tail -n 30 build.log; exit 1; }

# The op: every backend against the reference in f64 and finite differences, over tests/ops.
ctest --test-dir build/cpu --output-on-failure -R '^engine_backends_(reference|cpu)_test$' --no-tests=error

# The format and the model: rows between bars teach the family, from random weights.
work=$folder/work
mkdir -p "$work"
python3 - "$work" <<'PYTHON'
import json, sys
folder = sys.argv[1]
printable = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
letters, n = {}, 0
for byte in range(256):  # the byte alphabet of GPT-2
    letters[chr(byte if byte in printable else 256 + n)] = byte
    n += byte not in printable
level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
json.dump({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
           "post_processor": None, "decoder": level,
           "model": {"type": "BPE", "vocab": letters, "merges": []}}, open(f"{folder}/tokenizer.json", "w"))
json.dump({"model_type": "scratch", "vocab_size": 256, "hidden_size": 32, "num_hidden_layers": 2,
           "num_attention_heads": 4, "max_position_embeddings": 64}, open(f"{folder}/config.json", "w"))
with open(f"{folder}/rows.psv", "w") as f:
    f.write("number|text\n")
    f.writelines(f"{i}|one, two, three, four; \n" for i in range(200))
PYTHON
build/cpu/bin/hone plan --task clm --model_name_or_path "$work" --block_size 32
build/cpu/bin/hone train --task clm --config_name "$work" --tokenizer_name "$work" \
  --train_file "$work/rows.psv" --do_train --block_size 32 --max_steps 40 --learning_rate 1e-2 \
  --logging_steps 1 --output_dir "$work/out" --overwrite_output_dir
python3 - "$work" <<'PYTHON'
import json, sys
log = json.load(open(f"{sys.argv[1]}/out/trainer_state.json"))["log_history"]
losses = [entry["loss"] for entry in log if "loss" in entry]
print(f"scratch: loss {losses[0]:.3f} at the first step, {losses[-1]:.3f} at the last")
sys.exit(losses[-1] > losses[0] / 2)
PYTHON
echo "scratch_add: an op 3 files, a model 1, a format 1; built, tested, trained"
