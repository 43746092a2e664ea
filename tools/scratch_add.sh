#!/usr/bin/env bash
# tools/scratch_add.sh [FOLDER]   adds one of each thing of CONTRIBUTING.md's table to a scratch copy
# of the last commit, builds it, uses or tests each, and counts the files that each touched. Fails
# when a count is larger than CONTRIBUTING.md says or a check does not pass.
# FOLDER (a temporary one by default) keeps the copy and its build. HONE_SCRATCH_TREE=CLONE takes a
# clone that has a build instead of making one: its changes are committed there.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
folder=${1:-$(mktemp -d)}
tree=${HONE_SCRATCH_TREE:-$folder/tree}
jobs=${JOBS:-$(nproc)}
mkdir -p "$folder"
if [ -z "${HONE_SCRATCH_TREE:-}" ]; then
  rm -rf "$tree"
  git clone -q --no-hardlinks "$source" "$tree"
fi
cd "$tree"
[ -z "$(git status --porcelain)" ] || { echo "$tree has changes that are not committed" >&2; exit 1; }

count() {  # what, most: counts what the working tree changed, then commits it
  git add -A
  local n
  n=$(git diff --cached --name-only | wc -l)
  echo "$1: $n files touched (at most $2)"
  git diff --cached --stat | sed '$d'
  git -c user.name=scratch -c user.email=scratch@localhost commit -q --no-verify -m "scratch: add $1"
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

Op define_tanh_shrink() {
  return {.name = "tanh_shrink",
          .operands = {"x"},
          .infer = same_as_first,
          .decompositions = {decompose},
          .grad = grad,
          .cost = cost,
          .over = {{0, "x"}}};
}

ValueId ops::tanh_shrink(Builder& b, ValueId x) { return b.emit1("tanh_shrink", {x}); }

}  // namespace hone
CC
sed -i 's/^ValueId gelu(Builder& b, ValueId x);.*/&\nValueId tanh_shrink(Builder\& b, ValueId x);/' src/engine/ops/ops.h
sed 's/\bsilu\b/tanh_shrink/g' tests/ops/silu.case >tests/ops/tanh_shrink.case
count "an op" 3

# A CPU kernel for it: its vector form and its line in the list.
python3 - <<'PYTHON'
path = "src/engine/backends/cpu/kernels/elementwise.h"
text = open(path).read()
text = text.replace("X(relu, Relu)", "X(relu, Relu) \\\n  X(tanh_shrink, TanhShrink)", 1)
open(path, "w").write(text)
path = "src/engine/backends/cpu/kernels/elementwise.simd.h"
text = open(path).read()
text = text.replace("template <class Fn>\nHONE_INLINE void with_unary", """struct TanhShrink {
  static HONE_INLINE F tanh(F x) { return fma(sigmoid(x + x), set1(2.0f), set1(-1.0f)); }
  static HONE_INLINE F forward(F x) { return x - tanh(x); }
  static HONE_INLINE F backward(F x, F dy) { return dy * tanh(x) * tanh(x); }
};

template <class Fn>
HONE_INLINE void with_unary""", 1)
open(path, "w").write(text)
PYTHON
count "a CPU kernel for the op" 2

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

ValueId words(ModelGraph& g) {
  return g.table("model.embed_tokens.weight", g.config.vocab, g.config.hidden);
}

ValueId body(ModelGraph& g) {
  Builder& b = g.b;
  const int64_t C = g.config.hidden, F = 4 * C;
  const double scale = 1 / std::sqrt(static_cast<double>(g.config.head_dim));
  ValueId places = g.table("model.embed_positions.weight", g.config.max_positions, C);
  ValueId x = ops::add(b, ops::embedding(b, words(g), g.ids), ops::embedding(b, places, g.positions));  // [T,C]
  for (int64_t i = 0; i < g.config.layers; ++i) {
    Builder::Scope block(b, fmt::format("h.{}", i));
    const std::string h = fmt::format("model.layers.{}.", i);
    ValueId y = g.layer_norm(h + "norm_1", x, 1e-5);
    ValueId q = g.linear(h + "q", y, C);
    ValueId k = g.linear(h + "k", y, C);
    ValueId v = g.linear(h + "v", y, C);
    x = ops::add(b, g.linear(h + "o", g.self_attention(i, q, k, v, scale, 0), C), x);
    ValueId up = ops::relu(b, g.linear(h + "up", g.layer_norm(h + "norm_2", x, 1e-5), F));  // [T,F]
    x = ops::add(b, g.linear(h + "down", up, C), x);
  }
  return g.layer_norm("model.norm", x, 1e-5);
}

HeadLayer head(ModelGraph& g, ValueId hidden) { return {hidden, words(g)}; }

}  // namespace

Family family_scratch() {
  return {.name = "scratch",
          .model_types = {{"scratch", "Scratch"}},
          .heads = {{Head::causal_lm, "ForCausalLM"}},
          .read_config = read_config,
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

# A metric of labels: the share of wrong ones.
cat >src/learn/metrics/error_rate.cc <<'CC'
// error_rate: the share of predictions that are not the reference, 1 - accuracy.
#include "learn/metrics/confusion.h"
#include "learn/metrics/loss.h"

namespace hone {
namespace {

class ErrorRateMetric final : public LabelMetric {
 public:
  using LabelMetric::LabelMetric;

 private:
  Result<MetricValues> values_of(const Confusion& c) const override {
    return MetricValues{{"error_rate", 1 - Accuracy{c.right(), c.total()}.value()}};
  }
};

}  // namespace

MetricType metric_error_rate() {
  return {"error_rate", "share of wrong labels", MetricInput::kLabel, {},
          [](const MetricOptions& o) -> std::unique_ptr<Metric> {
            return std::make_unique<ErrorRateMetric>(o);
          }};
}

}  // namespace hone
CC
count "a metric" 1

# An optimizer: Lion's rule under another name, with fixed betas.
cat >src/learn/train/optimizers/scratch.cc <<'CC'
// Lion with beta1 = 0.95 and beta2 = 0.98.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_scratch() {
  return {.names = {"scratch"},
          .op = "lion",
          .fixed = {{"beta1", 0.95}, {"beta2", 0.98}},
          .states = [](const Attrs&) { return StateLists{state_like_weight("exp_avg")}; },
          .usual_rates = {1e-6, 1e-2}};
}

}  // namespace hone
CC
count "an optimizer" 1

# A schedule: half the rate after half of the steps.
cat >src/learn/train/schedules/scratch_half.cc <<'CC'
// The peak for the first half of the steps, half of it afterwards.
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_scratch_half() {
  return {.name = "scratch_half", .make = [](const ScheduleOptions& o) -> Result<Rate> {
            return after_warmup(o, [=](double step) {
              return o.learning_rate * (progress_of(o, step) < 0.5 ? 1.0 : 0.5);
            });
          }};
}

}  // namespace hone
CC
count "a schedule" 1

# A tokenizer stage: a normalizer that turns every '-' into a space.
cat >src/learn/tokenizers/stages/normalizer_no_dash.cc <<'CC'
// "NoDash": every '-' becomes a space.
#include <algorithm>

#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class NoDash : public Normalizer {
 public:
  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    buffer = text;
    std::replace(buffer.begin(), buffer.end(), '-', ' ');
    return buffer;
  }
};

Result<std::unique_ptr<Normalizer>> make(const JsonAt&, const StageContext&) {
  return std::unique_ptr<Normalizer>(std::make_unique<NoDash>());
}

}  // namespace

StageType tokenizer_stage_normalizer_no_dash() { return {.types = {"NoDash"}, .normalizer = make}; }

}  // namespace hone
CC
count "a tokenizer stage" 1

# A task on rows of text: each token from itself and those before it.
cat >src/learn/tasks/scratch_settings.def <<'CC'
SETTING(row_length, int64_t, 32, "Data", "tokens of a row", rows)
BOUNDS(row_length, 1, 1024)
CC
cat >src/learn/tasks/scratch.cc <<'CC'
// Each token from itself and those before it: its label is the token.
#include <algorithm>

#include "learn/harness/run/check_run.h"
#include "learn/harness/collate.h"
#include "learn/harness/token_graph.h"
#include "learn/harness/token_metrics.h"

namespace hone {
namespace {

struct ScratchSettings : TaskSettings, TextSettings {
#define HONE_SETTINGS "learn/tasks/scratch_settings.def"
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { TextSettings::bind(schema), bind(schema); }
};

Result<bool> collate(const ModelConfig& config, const CollatedRows& rows, Batch& to) {
  HONE_TRY(collate_tokens(rows.data.axes[0], rows.rows, kDecoderInputs, to));
  const auto ids = to.get<int32_t>("ids"), labels = to.get<int32_t>("labels");
  std::copy(ids.begin(), ids.end(), labels.begin());
  HONE_TRY(finish_tokens(config, to));
  return false;
}

}  // namespace

Task task_scratch() {
  const auto s = std::make_shared<ScratchSettings>();
  Task t;
  t.name = "scratch";
  t.summary = "each token from itself";
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [](ModelConfig& config) { return set_head(config, Head::causal_lm); };
  t.form = [s](const Pretrained&) -> Result<RunForm> {
    return RunForm{.limits = {{kTokens, s->row_length, "row_length", s->row_length}},
                   .packs_rows = false,
                   .even_steps = true};
  };
  t.program = [](const ModelConfig& config, const BatchShape& shape, const std::string& name,
                 bool train) {
    TokenGraph g(config, shape, name, train, {DType::i32, {shape[kTokens]}});
    return finish_token_loss(g, train, 0);
  };
  t.text = TextSource{
      .files = [s](const Pretrained&, const WantedSplits& splits,
                   std::vector<std::string>& notes) -> Result<TextFiles> {
        TextFiles files = HONE_TRY(named_files(*s, *s, splits, notes));
        files.options.block_size = s->row_length;
        return files;
      },
      .shard_settings = [](const auto&, const auto&, bool) { return OrderedJson{{"task", "scratch"}}; },
      .tokenize = tokenize_with};
  t.examples = [s, text = *t.text](Pretrained& model,
                                   const ExampleSource& source) -> Result<Examples> {
    Examples x = HONE_TRY(read_texts(*s, text, model, source));
    x.collate = [&config = model.config](const CollatedRows& rows, Batch& to) {
      return collate(config, rows, to);
    };
    x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) {
      return plan.tokens[0];
    };
    x.metrics = [s](int64_t first) {
      return std::make_unique<TokenMetrics>(*s, first, 0);
    };
    return x;
  };
  t.check_rows = [s, text = *t.text](const CheckRequest& r, Findings& findings) {
    return check_texts(*s, text, r, findings);
  };
  return t;
}

}  // namespace hone
CC
count "a task" 2

# A setting of every training task.
echo 'SETTING(scratch_note, std::string, "none", "Output", "a word for the record of the run")' \
  >>src/learn/train/settings.def
count "a setting (docs/commands.md is written by the program)" 1

# A command with settings of its own.
cat >src/run/commands/scratch.def <<'CC'
SETTING(input, std::string, "", "Data", "text file whose lines are counted")
REQUIRED(input)
CC
cat >src/run/commands/scratch.cc <<'CC'
// hone scratch --input FILE: how many lines a file has.
#include <algorithm>

#include "base/core/text.h"
#include "run/commands/command.h"

namespace hone {
namespace {

struct ScratchSettings {
#define HONE_SETTINGS "run/commands/scratch.def"
#include "base/settings/fields.inc"
};

Result<int> run_scratch(const std::vector<std::string>& args) {
  ScratchSettings s;
  Schema schema("hone scratch", "count the lines of a file");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  const std::string text = HONE_TRY(read_file(s.input));
  print_out(fmt::format("{}\n", std::count(text.begin(), text.end(), '\n')));
  return kExitDone;
}

}  // namespace

Command command_scratch() {
  return {.name = "scratch", .summary = "count the lines of a file", .in = CommandGroup::kInspect, .run = run_scratch};
}

}  // namespace hone
CC
count "a command" 2

# A launcher: one flag with a value, and a switch.
cat >src/run/commands/scratchrun.cc <<'CC'
// hone scratchrun [launcher flags] run_clm.py ...: a launcher's line as recipes print it.
#include "run/commands/command.h"
#include "run/commands/launcher.h"

namespace hone {
namespace {

Result<int> run_scratchrun(const std::vector<std::string>& args) {
  return run_launcher({.name = "scratchrun",
                       .example = "--nodes N",
                       .flags = {{"nodes"}, {"quiet", false}},
                       .letters = {{"q", "quiet"}}},
                      args);
}

}  // namespace

Command command_scratchrun() {
  return {.name = "scratchrun",
          .summary = "run a scratchrun command line: hone scratchrun [--nodes N] run_clm.py ...",
          .in = CommandGroup::kOtherPrograms,
          .run = run_scratchrun};
}

}  // namespace hone
CC
count "a launcher" 1

# An engine for pipelines: the commands of the steps.
cat >src/operate/pipeline/compile/scratch.cc <<'CC'
// An object with the command of each step.
#include "base/core/text.h"
#include "operate/pipeline/compile/compile.h"

namespace hone {
namespace {

Result<CompiledPipeline> compile_scratch(const Pipeline& pipeline, const CompileOptions&) {
  CompiledPipeline c;
  for (const PipelineStep& step : pipeline.steps) c.document[step.name] = join(step.command, " ");
  return c;
}

}  // namespace

PipelineEngine pipeline_engine_scratch() {
  return {.name = "scratch", .about = "commands alone", .compile = compile_scratch};
}

}  // namespace hone
CC
count "an engine for pipelines" 1

# A route of the server: an API with one path.
cat >src/operate/serve/routes/scratch.cc <<'CC'
// How many bytes a part of a path has.
#include "operate/serve/route.h"

namespace hone {
namespace {

void answer_length(RouteCall& call) {
  call.reply->send({200, fmt::format("{}\n", call.part("text").size()), "text/plain"});
}

std::vector<Route> scratch_routes(const ServeContext&) {
  return {{"GET", "v1/length/{text}", answer_length}};
}

}  // namespace

Api serve_api_scratch() { return {"scratch", scratch_routes}; }

}  // namespace hone
CC
count "a route" 1

mkdir -p build
if [ -z "${HONE_SCRATCH_TREE:-}" ]; then
  tools/setup.sh check
  cmake --preset cpu ${HONE_PYTHON:+-DHONE_PYTHON=$HONE_PYTHON} >build/configure.log || { cat build/configure.log; exit 1; }
fi
nice ninja -C build/cpu -j "$jobs" hone engine_backends_reference_test \
  engine_backends_cpu_test learn_data_formats_test >build/build.log || { tail -n 30 build/build.log; exit 1; }

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
hone=build/cpu/bin/hone
$hone plan --task clm --model_name_or_path "$work" --block_size 32
train=("$hone" train --task clm --config_name "$work" --tokenizer_name "$work" --train_file "$work/rows.psv"
  --do_train --block_size 32 --max_steps 40 --logging_steps 1 --save_strategy no --overwrite_output_dir)
"${train[@]}" --learning_rate 1e-2 --output_dir "$work/out"
"${train[@]}" --learning_rate 1e-3 --optim scratch --lr_scheduler_type scratch_half --scratch_note here \
  --output_dir "$work/other"
python3 - "$work" <<'PYTHON'
import json, sys
def entries(folder, key):
    log = json.load(open(f"{sys.argv[1]}/{folder}/trainer_state.json"))["log_history"]
    return [entry[key] for entry in log if key in entry]
for folder, share in (("out", 0.5), ("other", 0.75)):
    losses = entries(folder, "loss")
    print(f"{folder}: loss {losses[0]:.3f} at the first step, {losses[-1]:.3f} at the last")
    assert losses[-1] < losses[0] * share, losses
rates = entries("other", "learning_rate")
assert rates[0] == 1e-3 and rates[-1] == 5e-4, rates
PYTHON

# The task: two steps and an evaluation, and what the other commands say of it.
$hone train --task scratch --config_name "$work" --tokenizer_name "$work" --train_file "$work/rows.psv" --do_train \
  --do_eval --row_length 16 --max_steps 2 --logging_steps 1 --save_strategy no --overwrite_output_dir \
  --output_dir "$work/task"
python3 - "$work" <<'PYTHON'
import json, sys
log = json.load(open(f"{sys.argv[1]}/task/trainer_state.json"))["log_history"]
losses = [entry["loss"] for entry in log if "loss" in entry]
print("the task's losses:", losses)
assert len(losses) == 2 and losses[1] < losses[0], losses
assert any("eval_accuracy" in entry for entry in log), log
PYTHON
$hone plan --task scratch --config_name "$work" --tokenizer_name "$work"
$hone graph --task scratch --config_name "$work" --tokenizer_name "$work" --program step | grep -q adamw
$hone check --task scratch --config_name "$work" --tokenizer_name "$work" --train_file "$work/rows.psv" | grep -q 'errors 0'

# The metric, the stage, the setting and the command, as a user meets them.
printf '1\n0\n1\n1\n' >"$work/predictions.txt"
printf '1\n1\n1\n0\n' >"$work/references.txt"
$hone score --predictions "$work/predictions.txt" --references "$work/references.txt" --metric error_rate --json |
  grep -q '"error_rate": 0.5'
sed 's/"normalizer": null/"normalizer": {"type": "NoDash"}/' "$work/tokenizer.json" >"$folder/dash.json"
mkdir -p "$folder/dash" && mv "$folder/dash.json" "$folder/dash/tokenizer.json"
echo '{"text": "a-b"}' >"$work/dash.jsonl"
echo '{"text": "a b"}' >"$work/space.jsonl"
cmp <($hone tokenize --model_name_or_path "$folder/dash" --input "$work/dash.jsonl") \
  <($hone tokenize --model_name_or_path "$work" --input "$work/space.jsonl")
$hone train --help all | grep -q 'scratch_note'
{ "${train[@]}" --scratch_not x --output_dir "$work/none" 2>&1 || true; } | grep -q 'did you mean --scratch_note'
[ "$($hone scratch --input "$work/predictions.txt")" = 4 ]
$hone help | grep -q 'count the lines of a file'

# The engine, the launcher and the route.
printf 'steps:\n  - {name: first, run: [wc, -l, "${out}"]}\n' >"$work/steps.yaml"
$hone pipeline compile "$work/steps.yaml" --to scratch | grep -q '^first: "wc -l'
{ $hone scratchrun --nodes 2 -q run_clm.py --no_such_flag 1 2>&1 || true; } | grep -q 'has no setting'
{ $hone scratchrun --node 2 run_clm.py 2>&1 || true; } | grep -q 'did you mean --nodes'
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$hone" serve scratch="$work/out" --port "$port" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
length=$(curl -s --retry 50 --retry-connrefused --retry-delay 1 "http://127.0.0.1:$port/v1/length/seven77")
[ "$length" = 7 ]
kill "$server"
wait "$server"
echo "scratch_add: an op 3 files, its CPU kernel 2, a model 1, a format 1, a metric 1, an optimizer 1," \
  "a schedule 1, a tokenizer stage 1, a task 2, a setting 1, a command 2, a launcher 1," \
  "an engine for pipelines 1, a route 1; built, tested, used"
