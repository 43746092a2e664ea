// hone graph: a model's program as text after any pass, its memory plan, the catalogue of ops, and
// a trace of every named value (docs/tracing.md).
#include "engine/backends/backends.h"
#include "engine/ops/catalogue.h"
#include "learn/harness/budget/shown_program.h"
#include "learn/tasks/tasks.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/graph_show.h"
#include "run/commands/in_flags.h"
#include "run/commands/training.h"

namespace hone {
namespace {

constexpr const char* kNull = "null";  // beside those of the shelf: it computes nothing

std::vector<std::string> shown_devices() {
  std::vector<std::string> names = backend_names();
  names.emplace_back(kNull);
  for (std::string& planned : device_names())
    if (planned != "cpu") names.push_back(std::move(planned));
  return names;
}

struct GraphSettings {
#define HONE_SETTINGS "run/commands/graph.def"
#include "base/settings/fields.inc"
};

Result<std::unique_ptr<Backend>> choose_backend(const GraphSettings& s) {
  if (s.device == kNull) return std::unique_ptr<Backend>(std::make_unique<NullBackend>());
  const auto spec = device_spec(s.device);
  if (spec.ok() && spec->name != "cpu") return plan_backend(*spec);
  return open_backend(s.device, {.threads = static_cast<int>(s.threads)});
}

// A task that trains the model, for the programs of a model without a run.
Result<Task> task_of(const GraphSettings& g, ModelConfig& config) {
  const std::vector<HeadOffer>& heads = family_of(config).heads;
  const auto has = [&](Head head) {
    return std::any_of(heads.begin(), heads.end(), [&](const auto& h) { return h.head == head; });
  };
  const Task task = find_task(has(Head::seq2seq_lm)             ? "summarization"
                              : has(Head::causal_lm)            ? "clm"
                              : has(Head::image_classification) ? "image_classification"
                                                                : "mlm");
  TaskSettings& s = *task.settings;
  s.bf16 = g.bf16;
  s.gradient_checkpointing = g.gradient_checkpointing;
  s.activation_memory_budget = g.activation_memory_budget;
  s.offload_optimizer_device = g.offload_optimizer_device;
  s.offload_param_device = g.offload_param_device;
  s.offload_gradient_device = g.offload_gradient_device;
  s.offload_activation_device = g.offload_activation_device;
  s.offload_persistence_threshold = g.offload_persistence_threshold;
  HONE_TRY(task.choose_head(config));
  return task;
}

Result<int> graph_of_task(const ShowSettings& s, const Task& task) {
  Pretrained model = HONE_TRY(open_for_training(task, !s.trace.empty())).model;
  const auto backend = HONE_TRY(open_device(task.settings->device_here(),
                                            {.threads = static_cast<int>(task.settings->threads)}));
  if (s.trace.empty()) {
    const TaskModel made = HONE_TRY(TaskModel::make(task, model, backend->spec()));
    RunProgram program = HONE_TRY(program_of_run(s, made));
    HONE_TRY(show_program(s, std::move(program), *backend));
  } else {
    HONE_TRY(write_trace(s, task, std::move(model), *backend));
  }
  return kExitDone;
}

// hone graph --task T: the programs of the run that the same flags would start.
Result<int> graph_of_run(const std::vector<std::string>& args) {
  ShowSettings s;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone graph",
                            .summary = "a run's programs after any pass, or a trace of its values",
                            .defaults = [](TaskSettings& t) { t.do_train = true; },
                            .more = [&](Schema& schema) { s.bind(schema); }},
                           args));
  if (!chosen->task) return kExitDone;
  return in_flags(chosen->schema, graph_of_task(s, *chosen->task));
}

Status check_arguments(const GraphSettings& g, const ShowSettings& s) {
  if (g.model_name_or_path.empty() && g.config_name.empty())
    return Error(err::kMissingArgument, "hone graph is given no model")
        .todo("name one with --model_name_or_path or --config_name; --ops needs none");
  if (s.trace.empty() != s.ids.empty())
    return Error(err::kMissingArgument, s.trace.empty() ? "--ids are given without --trace"
                                                        : "--trace is given without --ids")
        .todo("a trace needs both: --trace FILE --ids '5 6 7; 8 9'");
  return Ok{};
}

Status trace_model(const ShowSettings& s, Pretrained model, const Backend& backend) {
  if (model.weights == nullptr)
    return Error(err::kMissingArgument, "a trace needs weights")
        .todo("name a model with --model_name_or_path");
  if (!backend.computes())
    return Error(err::kMissingArgument, "the null backend computes nothing")
        .todo("--device cpu or reference");
  const Task task = find_task("clm");
  task.settings->do_train = true;
  return write_trace(s, task, std::move(model), backend);
}

Status graph_of_model(const GraphSettings& g, const ShowSettings& s) {
  OpenOptions options = open_options(g);
  options.need_tokenizer = false;
  options.need_weights = !s.trace.empty();
  options.writes_text = true;
  Pretrained model = HONE_TRY(open_pretrained(g.model_name_or_path, options));
  const auto backend = HONE_TRY(choose_backend(g));
  if (!s.trace.empty()) return trace_model(s, std::move(model), *backend);
  if (s.program == "prefill" || s.program == "decode")
    return show_program(
        s, cached_program(model.config, {.name = s.program, .tokens = s.tokens, .slots = s.slots}),
        *backend);
  const Task task = HONE_TRY(task_of(g, model.config));
  const TaskModel made = HONE_TRY(TaskModel::make(task, model, backend->spec()));
  RunProgram program = HONE_TRY(program_of_run(s, made));
  program.program.name = s.program;  // its sizes are those of the flags
  return show_program(s, std::move(program), *backend);
}

Result<int> run_graph(const std::vector<std::string>& args) {
  if (std::any_of(args.begin(), args.end(), [](const std::string& a) {
        return a == "--task" || a == "--preset" || a.starts_with("--task=") ||
               a.starts_with("--preset=");
      }))
    return graph_of_run(args);
  GraphSettings g;
  ShowSettings s;
  Schema schema("hone graph",
                "a model's program after any pass, its memory plan, or a trace of its values");
  g.bind(schema);
  s.bind(schema);
  schema.choices("program", {"step", "train", "accumulate", "update", "eval", "prefill", "decode"});
  schema.positional("model_name_or_path");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (s.ops) {
    print_out(op_catalogue());
    return kExitDone;
  }
  HONE_TRY(check_arguments(g, s));
  if (s.tokens == 0) s.tokens = 16;
  if (s.slots == 0) s.slots = 2;
  HONE_TRY(graph_of_model(g, s));
  return kExitDone;
}

}  // namespace

Command command_graph() {
  return {.name = "graph",
          .summary =
              "print a model's program after any pass, its memory plan, or a trace of its values",
          .in = CommandGroup::kInspect,
          .run = run_graph};
}

}  // namespace hone
