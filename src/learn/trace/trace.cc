#include "learn/trace/trace.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/core/json.h"
#include "engine/passes/differentiate.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/stacked_weights.h"
#include "learn/harness/budget/programs.h"
#include "learn/harness/feed.h"
#include "learn/pretrained/weights.h"
#include "learn/trace/errors.h"

namespace hone {
namespace {

// "transformer.h.0.attn.c_fc.weight" -> "transformer.h.0.attn.c_fc", "" for other names.
std::string module_of(const std::string& weight) {
  constexpr std::string_view kEnd = ".weight";
  return weight.ends_with(kEnd) ? weight.substr(0, weight.size() - kEnd.size()) : std::string();
}

bool is_attention_projection(const std::string& module) {
  return module.ends_with("attn.c_proj") || module.ends_with("attn.o_proj");
}

// Makes an output of every value that is a module's output, named after the weight its node reads.
std::vector<std::string> mark_activations(Program& p) {
  std::map<ValueId, std::string> weight;
  for (const State& s : p.states) weight[s.value] = s.name;
  std::vector<std::string> order;
  std::set<std::string> seen;
  const auto mark = [&](const std::string& name, ValueId v) {
    if (!seen.insert(name).second) return;
    p.outputs.push_back({name, v});
    order.push_back(name);
  };
  for (const Node& n : p.nodes) {
    const std::string& op = n.op->name;
    if (op != "linear" && op != "layer_norm" && op != "rms_norm" && op != "embedding") continue;
    std::string module;
    for (const ValueId v : n.in) {
      if (const auto it = weight.find(v); it != weight.end() && module.empty())
        module = module_of(it->second);
    }
    if (module.empty()) continue;
    if (op == "linear" && is_attention_projection(module))
      mark("act." + module.substr(0, module.rfind('.')) + ".context", n.in[0]);
    const bool has_residual = op == "linear" && n.in.size() > 3 && n.in[3] != kNoValue;
    const bool has_activation = op == "linear" && n.attrs.text("act", "none") != "none";
    if (has_residual) continue;  // the sum is not the output of a module
    if (!has_activation)
      mark("act." + module, n.out[0]);
    else if (n.out.size() > 1)
      mark("act." + module, n.out[1]);  // save_pre
  }
  return order;
}

// Runs the passes, with the values marked once nothing before differentiate can rename them.
Result<std::vector<std::string>> compile_passes(RunProgram& made, bool fuse) {
  Program& p = made.program;
  std::vector<std::string> order;
  bool marked = false;
  for (const Pass& pass : made.passes) {
    if (!fuse && pass.name.starts_with("fuse")) continue;
    if (!marked && pass.name == "differentiate") {
      order = mark_activations(p);
      marked = true;
    }
    HONE_TRY(run_passes(p, {pass}, {}));
  }
  HONE_BUG_IF(!marked, "the pipeline has no pass 'differentiate'");
  return order;
}

Status check_rows(const TokenRows& rows, const ModelConfig& config) {
  int64_t labels = 0;
  for (int64_t r = 0; r < rows.size(); ++r) {
    labels += rows.length(r) - 1;
    if (rows.length(r) > config.max_positions)
      return Error(err::kTraceRows, fmt::format("row {} has {} ids, the model {} positions", r + 1,
                                                rows.length(r), config.max_positions));
    for (const int32_t id : rows.row(r)) {
      if (id < 0 || id >= config.vocab)
        return Error(err::kTraceRows,
                     fmt::format("row {} holds the id {}, the vocabulary ends at {}", r + 1, id,
                                 config.vocab - 1));
    }
  }
  if (labels <= 0)
    return Error(err::kTraceRows, "no row has two ids, so there is no next token to learn")
        .todo("give rows such as '5 6 7; 8 9'");
  return Ok{};
}

// The smallest shape that holds the rows.
BatchShape shape_of(const RunForm& form, const TakenRows& taken) {
  BatchShape shape;
  for (size_t a = 0; a < form.limits.size(); ++a) {
    int64_t tokens = 0;
    for (const int64_t row : taken.rows.rows) tokens += taken.data->axes[a].length(row);
    shape.axes.push_back({form.limits[a].axis, tokens});
  }
  shape.axes.push_back({kSequences, static_cast<int64_t>(taken.rows.rows.size())});
  return form.labels_vary ? shape.with(kLabels, shape.axes[0].size) : shape;
}

// Fills the inputs of the only program.
Status put_rows(Session& session, const Examples& examples, const TakenRows& taken) {
  StepPlan plan;
  plan.rows = static_cast<int64_t>(taken.rows.rows.size());
  for (size_t a = 0; a < taken.data->axes.size(); ++a)
    for (const int64_t row : taken.rows.rows) plan.tokens[a] += taken.data->axes[a].length(row);
  const int64_t labels = examples.normaliser(0, plan, *taken.data, taken.rows);
  Batch inputs = inputs_of(session, 0);
  HONE_TRY(examples.collate({*taken.data, taken.rows}, inputs));
  const auto rng = inputs.get_if<int64_t>("rng");
  std::fill(rng.begin(), rng.end(), 0);
  inputs.get<float>("scale")[0] = 1 / static_cast<float>(std::max<int64_t>(labels, 1));
  return Ok{};
}

TracedTensor copied(const std::string& name, const Type& type, std::span<const std::byte> bytes) {
  TracedTensor t{name, type, std::vector<float>(bytes.size() / sizeof(float))};
  std::memcpy(t.values.data(), bytes.data(), t.values.size() * sizeof(float));
  return t;
}

}  // namespace

Result<std::vector<TracedTensor>> trace_task(const Task& task, Pretrained& model,
                                             const ExampleRows* rows, const Backend& backend,
                                             const TraceOptions& options) {
  HONE_TRY(task.choose_head(model.config));
  ModelConfig& config = model.config;
  if (rows) HONE_TRY(check_rows(rows->axes[0], config));
  Examples examples = HONE_TRY(task.examples(model, {backend.device().pool(), rows}));
  config = without_dropout(config);
  RowFeed feed = HONE_TRY(RowFeed::make(*task.settings, examples));
  TakenRows taken = HONE_TRY(feed.rows_of_step(0));
  std::vector<int64_t> all;
  if (rows) {
    for (int64_t i = 0; i < rows->size(); ++i) all.push_back(i);
    taken = {&*examples.train, {all, {}}};
  } else {
    const auto most = static_cast<size_t>(task.settings->per_device_train_batch_size);
    taken.rows.rows = taken.rows.rows.first(std::min(most, taken.rows.rows.size()));
  }
  const TaskModel m = HONE_TRY(TaskModel::make(task, model));
  RunProgram made = traced_program(m, shape_of(m.form, taken));
  const std::vector<std::string> order = HONE_TRY(compile_passes(made, options.fuse));
  std::vector<Program> programs;
  programs.push_back(std::move(made.program));
  Session session = HONE_TRY(Session::compile(std::move(programs), backend));
  HONE_TRY(session.allocate());
  NewHead head{static_cast<uint64_t>(task.settings->seed), m.form.replaces_head};
  HONE_TRY(load_weights(session, model, nullptr, &head));
  HONE_TRY(put_rows(session, examples, taken));
  session.run(0);
  HONE_TRY(session.check());

  std::vector<TracedTensor> traced;
  const Program& p = session.programs()[0];
  for (const std::string& name : order)
    traced.push_back(copied(name, p.type(p.output_named(name)), session.output_bytes(0, name)));
  traced.push_back(copied("loss", {DType::f32, {1}}, session.output_bytes(0, "loss")));
  std::vector<ParamSpec> params = family_of(config).params(config);
  for (auto it = params.rbegin(); it != params.rend(); ++it) {
    if (!it->is_trained()) continue;
    const std::string name = grad_name(it->name);
    std::vector<float> values = session.state_values<float>(name);
    if (!is_stacked(name)) {
      traced.push_back({name, {DType::f32, it->shape}, std::move(values)});
      continue;
    }
    const Type each{DType::f32, Shape(it->shape.begin() + 1, it->shape.end())};
    for (int64_t i = 0; i < it->shape[0]; ++i) {
      const auto first = values.begin() + i * each.count();
      traced.push_back({member_name(name, i), each, {first, first + each.count()}});
    }
  }
  return traced;
}

Status save_trace(const std::string& path, const std::vector<TracedTensor>& tensors) {
  std::vector<TensorData> data;
  Json order = Json::array();
  for (const TracedTensor& t : tensors) {
    data.push_back({t.name, t.type, std::as_bytes(std::span(t.values)), {}});
    order.push_back(t.name);
  }
  HashedFile file = HONE_TRY(HashedFile::create(path));
  HONE_TRY(write_safetensors(file, data, {{"format", "pt"}, {"order", dump_json(order)}}));
  return file.commit();
}

}  // namespace hone
