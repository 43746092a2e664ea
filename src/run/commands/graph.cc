// hone graph: a model's program as text after any pass, its memory plan, the catalogue of ops, and
// a trace of every named value (docs/tracing.md).
#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "engine/device/lower.h"
#include "engine/graph/text.h"
#include "engine/passes/pipelines.h"
#include "engine/session/session.h"
#include "learn/generate/programs.h"
#include "learn/harness/programs.h"
#include "learn/trace/trace.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
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

// Settings of the output, for a model or, with --task, a run.
struct ShowSettings {
#define HONE_SETTINGS "run/commands/graph_show.def"
#include "base/settings/fields.inc"
};

Result<std::unique_ptr<Backend>> choose_backend(const GraphSettings& s) {
  if (s.device == kNull) return std::unique_ptr<Backend>(std::make_unique<NullBackend>());
  const auto spec = device_spec(s.device);
  if (spec.ok() && spec->name != "cpu") return plan_backend(*spec);
  return open_backend(s.device, {.threads = static_cast<int>(s.threads)});
}

// A line for each op and kernel: nodes, op, its type, the kernel or "decomposed", why not a faster one.
std::string explanation(const Program& p, const Backend& backend) {
  std::map<std::array<std::string, 4>, int64_t> lines;
  for (const Node& n : p.nodes) {
    const NodeView view{p, n};
    if (!has_kernel(view) || n.op->waits) continue;
    const Result<Choice> c = backend.choose(view);
    ++lines[{n.op->name, std::string(name_of(view.out(0).dtype)), c ? c->id : "decomposed",
             c ? c->note : c.error().what()}];
  }
  std::string text = fmt::format("{:>6}  {:<22} {:<5} {:<38} {}\n", "nodes", "op", "type", "kernel",
                                 "why not a faster one");
  for (const auto& [line, count] : lines) {
    text += fmt::format("{:>6}  {:<22} {:<5} {:<38} {}", count, line[0], line[1], line[2], line[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string catalogue() {
  std::string text = fmt::format("{:<26} {:<10} {:<9} {}\n", "op", "kind", "gradient",
                                 "operands, attributes; what results are written over");
  for (const Op* op : op_table().all()) {
    std::vector<std::string> operands, attrs, over;
    for (const Operand& o : op->operands)
      operands.push_back(o.name + (o.list ? "..." : o.optional ? "?" : ""));
    for (const AttrSpec& a : op->attrs) attrs.push_back(a.name + (a.required ? "" : "?"));
    for (const Overwrite& o : op->over) over.push_back((o.adds ? "onto " : "") + o.operand);
    if (op->view_offset != nullptr) over.push_back("a view");
    text += fmt::format("{:<26} {:<10} {:<9} ({}){}{}\n", op->name,
                        op->decompositions.empty() ? "primitive" : "composite",
                        op->grad ? "yes" : "-", join(operands, ", "),
                        attrs.empty() ? "" : fmt::format(" {{{}}}", join(attrs, ", ")),
                        over.empty() ? "" : fmt::format("; {}", join(over, ", ")));
  }
  return text;
}

// Programs of generation, which no task owns: an encoder-decoder encodes where others prefill.
RunProgram cached_program(const ShowSettings& s, const ModelConfig& config) {
  const bool two_sides = family_of(config).encoder != nullptr;
  CacheLimits limits;
  limits.rows = s.slots;
  limits.tokens = config.max_positions;
  if (two_sides) {
    limits.sources = s.slots;
    limits.longest_source = config.max_positions;
  }
  const CachedShape shape{s.program == "decode" ? s.slots : s.tokens,
                          s.slots,
                          limits.pages(),
                          limits.page,
                          limits.blocks(),
                          limits.sources * limits.source_blocks(),
                          limits.source_blocks(),
                          two_sides && s.program == "prefill"};
  return {build_cached_program(config, shape, s.program), forward_pipeline()};
}

// "step.512+128": the kind, and the sizes where the name has them.
std::string kind_of(const std::string& program) { return program.substr(0, program.find('.')); }

// The shapes of the run, with the sizes that flags or the program's name give.
void choose_sizes(const ShowSettings& s, RunShapes& shapes) {
  std::vector<std::string> sizes;
  if (const size_t dot = s.program.find('.'); dot != std::string::npos)
    sizes = split(s.program.substr(dot + 1), '+');
  for (BatchGrid* grid : {&shapes.train, &shapes.eval})
    for (BatchShape& shape : grid->shapes) {
      for (size_t a = 0; a + 1 < shape.axes.size(); ++a) {
        if (s.tokens > 0) shape.axes[a].size = s.tokens;
        if (a < sizes.size())
          if (const int64_t size = std::atoll(sizes[a].c_str()); size > 0)
            shape.axes[a].size = size;
      }
      if (s.slots > 0) shape.axes.back().size = s.slots;
    }
}

// The program of a run that the flags name.
Result<RunProgram> find_program(const ShowSettings& s, const TaskModel& m) {
  const std::string kind = kind_of(s.program);
  const TaskSettings& run = m.settings();
  const bool whole = kind == "step";
  const int64_t rows =
      kind == "eval" ? run.per_device_eval_batch_size : run.per_device_train_batch_size;
  RunShapes shapes = shapes_without_data(m, m.form.limits[0].tokens, rows, whole, true, true);
  choose_sizes(s, shapes);
  std::vector<RunProgram> all = HONE_TRY(list_programs(m, shapes));
  std::vector<std::string> names;
  for (RunProgram& p : all) {
    if (p.program.name == s.program || kind_of(p.program.name) == s.program) return std::move(p);
    names.push_back(p.program.name);
  }
  for (const bool other : {true, false})
    if (other != whole) {
      shapes = shapes_without_data(m, m.form.limits[0].tokens, rows, other, true, false);
      for (const RunProgram& p : HONE_TRY(list_programs(m, shapes)))
        names.push_back(p.program.name);
    }
  const std::string near = nearest_name(s.program, names);
  return Error(err::kMissingArgument, fmt::format("the run has no program '{}'", s.program))
      .at("--program " + s.program)
      .todo(fmt::format("{}its programs: {}",
                        near.empty() ? "" : fmt::format("did you mean {}? ", near),
                        join(names, ", ")));
}

Status check_pass_names(const ShowSettings& s, const std::vector<Pass>& pipeline) {
  std::vector<std::string> names = {"build"};
  for (const Pass& p : pipeline) names.push_back(p.name);
  names.push_back("lower");
  std::vector<std::string> asked = s.pass_off;
  if (!s.after.empty()) asked.push_back(s.after);
  for (const std::string& name : asked) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = nearest_name(name, names);
    return Error(err::kMissingArgument,
                 fmt::format("the program {} has no pass '{}'", s.program, name))
        .todo(fmt::format("{}its passes: {}",
                          near.empty() ? "" : fmt::format("did you mean {}? ", near),
                          join(names, ", ")));
  }
  return Ok{};
}

// Runs the passes up to s.after.
Result<std::vector<PassRecord>> run_until(RunProgram& p, const ShowSettings& s,
                                          const Backend& backend) {
  std::vector<PassRecord> records;
  if (s.after == "build") return records;
  PassOptions options;
  options.off = {s.pass_off.begin(), s.pass_off.end()};
  std::vector<Pass>& passes = p.passes;
  const auto last = std::find_if(passes.begin(), passes.end(),
                                 [&](const Pass& pass) { return pass.name == s.after; });
  if (last != passes.end()) passes.erase(last + 1, passes.end());
  records = HONE_TRY(run_passes(p.program, passes, options));
  if (s.after == "lower") p.program = HONE_TRY(lower(p.program, backend));
  return records;
}

std::string pass_table(const Program& built, const std::vector<PassRecord>& records) {
  std::string text = fmt::format("{:<20} {:<8} {:>7} {:>10}\n{:<20} {:<8} {:>7}\n", "pass",
                                 "changed", "nodes", "ms", "build", "", built.nodes.size());
  for (const PassRecord& r : records)
    text += fmt::format("{:<20} {:<8} {:>7} {:>10.3f}\n", r.name, r.changed ? "yes" : "no", r.nodes,
                        r.milliseconds);
  return text;
}

// "h.0.mlp", "backward h.0.mlp"
std::string place_of(const Node& n) {
  return n.phase == Phase::forward ? n.scope : fmt::format("{} {}", name_of(n.phase), n.scope);
}

std::string plan_text(const Session& session) {
  const RunPlan& plan = session.plan();
  const Program& p = session.programs()[0];
  const ProgramPlan& own = plan.programs[0];
  std::string text =
      fmt::format("arena {} bytes: states {}, transients {} (at least {} live at node {})\n",
                  plan.arena_bytes(), plan.used_bytes() - own.transient_bytes[Space::device],
                  own.transient_bytes[Space::device], own.live_bytes, own.peak_node);
  for (const auto& [purpose, bytes] : plan.by_purpose())
    text += fmt::format("  {:<16} {:>12}\n", purpose, bytes);
  for (const Space space : {Space::host, Space::disk})
    if (const int64_t bytes = plan.arena_bytes(space); bytes > 0)
      text += fmt::format("arena on {} {} bytes\n", name_of(space), bytes);
  const auto on = [](Space space) {
    return space == Space::device ? "" : fmt::format(" on {}", name_of(space));
  };
  text += fmt::format("\n{:>12} {:>12}  states\n", "offset", "bytes");
  for (const StateSlot& s : plan.states)
    text += fmt::format("{:>12} {:>12}  {} {}{}\n", s.offset, s.type.bytes(), s.name, s.type.text(),
                        on(s.home));
  text += fmt::format("\n{:>5} {:>12} {:>12}  {:<22} {:<28} schedule\n", "node", "offset", "bytes",
                      "kernel", "result");
  for (size_t k = 0; k < p.nodes.size(); ++k) {
    for (size_t o = 0; o < p.nodes[k].out.size(); ++o) {
      const ValueId v = p.nodes[k].out[o];
      const std::string result = fmt::format("%{} {}{}", v, p.type(v).text(), on(p.space(v)));
      text += fmt::format("{:>5} {:>12} {:>12}  {:<22} {:<28} {} {}\n",
                          o == 0 ? std::to_string(k) : "", own.offset[static_cast<size_t>(v)],
                          p.type(v).bytes(), o == 0 ? session.choices(0)[k].id : "", result,
                          p.nodes[k].op->name, place_of(p.nodes[k]));
    }
  }
  return text;
}

Result<std::vector<std::vector<int32_t>>> read_ids(const std::string& text) {
  const auto bad = [&](const std::string& what) {
    return Error(err::kBadIds, what)
        .at("--ids " + utf8_prefix(text, 60))
        .todo("write rows as '5 6 7; 8 9', or name a .json or .jsonl file");
  };
  std::vector<std::vector<int32_t>> rows;
  const auto add_json = [&](const Json& row) -> Status {
    if (!row.is_array()) return bad("a row of ids is not a list");
    std::vector<int32_t>& ids = rows.emplace_back();
    for (const Json& id : row) {
      if (!id.is_number_integer()) return bad(fmt::format("'{}' is not a token id", id.dump()));
      ids.push_back(id.get<int32_t>());
    }
    return Ok{};
  };
  if (text.ends_with(".jsonl")) {
    int64_t number = 0;
    for (const std::string& line : split(HONE_TRY(read_file(text)), '\n')) {
      ++number;
      if (trim(line).empty()) continue;
      const Json row = HONE_TRY(parse_json(line, fmt::format("{}:{}", text, number)));
      if (!row.is_object() || !row.contains("ids"))
        return bad(fmt::format("line {} has no key \"ids\"", number));
      HONE_TRY(add_json(row["ids"]));
    }
    return rows;
  }
  if (text.ends_with(".json")) {
    const Json value = HONE_TRY(read_json_file(text));
    const Json& list =
        value.is_object() && value.contains("sequences") ? value["sequences"] : value;
    if (!list.is_array()) return bad("the file holds no list of rows");
    for (const Json& row : list) HONE_TRY(add_json(row));
    return rows;
  }
  for (const std::string& row : split(text, ';')) {
    std::vector<int32_t>& ids = rows.emplace_back();
    std::string spaced = row;
    std::replace(spaced.begin(), spaced.end(), ',', ' ');
    for (const std::string& word : split(spaced, ' ')) {
      if (trim(word).empty()) continue;
      size_t read = 0;
      int32_t id = 0;
      try {
        id = std::stoi(word, &read);
      } catch (const std::exception&) {
        read = 0;
      }
      if (read != word.size()) return bad(fmt::format("'{}' is not a token id", word));
      ids.push_back(id);
    }
    if (ids.empty()) rows.pop_back();
  }
  return rows;
}

// A task that trains the model, for the programs of a model without a run.
Result<Task> task_of(const ModelConfig& config) {
  const std::vector<HeadOffer>& heads = family_of(config).heads;
  const auto has = [&](Head head) {
    return std::any_of(heads.begin(), heads.end(), [&](const auto& h) { return h.head == head; });
  };
  return find_task(has(Head::seq2seq_lm) ? "summarization" : has(Head::causal_lm) ? "clm" : "mlm");
}

Status show(const ShowSettings& s, RunProgram p, const Backend& backend) {
  HONE_TRY(check_pass_names(s, p.passes));
  const Program built = p.program;
  const std::vector<PassRecord> records = HONE_TRY(run_until(p, s, backend));
  if (s.passes) {
    print_out(pass_table(built, records));
  } else if (s.explain) {
    print_out(explanation(p.program, backend));
  } else if (s.plan) {
    std::vector<Program> programs;
    programs.push_back(std::move(p.program));
    print_out(plan_text(HONE_TRY(Session::compile(std::move(programs), backend))));
  } else {
    p.program.compact();
    print_out(print(p.program));
  }
  return Ok{};
}

Result<int> trace(const ShowSettings& s, const Task& task, Pretrained model, const Backend& backend,
                  const TraceOptions& options) {
  std::optional<ExampleRows> rows;
  if (!s.ids.empty()) {
    TokenRows ids;
    for (const std::vector<int32_t>& row : HONE_TRY(read_ids(s.ids))) ids.add(row);
    rows.emplace(std::move(ids));
  }
  const std::vector<TracedTensor> traced =
      HONE_TRY(trace_task(task, model, rows ? &*rows : nullptr, backend, options));
  HONE_TRY(save_trace(s.trace, traced));
  log_info("{}: {} tensors", s.trace, traced.size());
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
  const Task& task = *chosen->task;
  bool from_scratch = false;
  Pretrained model = HONE_TRY(open_for_training(task, from_scratch, !s.trace.empty()));
  const auto backend = HONE_TRY(open_device(task.settings->device_here(),
                                            {.threads = static_cast<int>(task.settings->threads)}));
  if (!s.trace.empty()) return trace(s, task, std::move(model), *backend, {.fuse = s.fuse});
  const TaskModel made = HONE_TRY(TaskModel::make(task, model, backend->spec().host_lane));
  RunProgram program = HONE_TRY(find_program(s, made));
  HONE_TRY(show(s, std::move(program), *backend));
  return kExitDone;
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
    print_out(catalogue());
    return kExitDone;
  }
  if (g.model_name_or_path.empty() && g.config_name.empty())
    return Error(err::kMissingArgument, "hone graph is given no model")
        .todo("name one with --model_name_or_path or --config_name; --ops needs none");
  if (s.trace.empty() != s.ids.empty())
    return Error(err::kMissingArgument, s.trace.empty() ? "--ids are given without --trace"
                                                        : "--trace is given without --ids")
        .todo("a trace needs both: --trace FILE --ids '5 6 7; 8 9'");
  if (s.tokens == 0) s.tokens = 16;
  if (s.slots == 0) s.slots = 2;

  OpenOptions options = open_options(g);
  options.need_tokenizer = false;
  options.need_weights = !s.trace.empty();
  options.writes_text = true;
  Pretrained model = HONE_TRY(open_pretrained(g.model_name_or_path, options));
  const auto backend = HONE_TRY(choose_backend(g));
  if (!s.trace.empty()) {
    if (model.weights == nullptr)
      return Error(err::kMissingArgument, "a trace needs weights")
          .todo("name a model with --model_name_or_path");
    if (!backend->computes())
      return Error(err::kMissingArgument, "the null backend computes nothing")
          .todo("--device cpu or reference");
    Task task = find_task("clm");
    task.settings->do_train = true;
    return trace(s, task, std::move(model), *backend, {.fuse = s.fuse});
  }
  if (s.program == "prefill" || s.program == "decode") {
    HONE_TRY(show(s, cached_program(s, model.config), *backend));
    return kExitDone;
  }
  const Task task = HONE_TRY(task_of(model.config));
  task.settings->bf16 = g.bf16;
  task.settings->gradient_checkpointing = g.gradient_checkpointing;
  task.settings->activation_memory_budget = g.activation_memory_budget;
  task.settings->offload_optimizer_device = g.offload_optimizer_device;
  task.settings->offload_param_device = g.offload_param_device;
  task.settings->offload_gradient_device = g.offload_gradient_device;
  task.settings->offload_activation_device = g.offload_activation_device;
  task.settings->offload_persistence_threshold = g.offload_persistence_threshold;
  HONE_TRY(task.choose_head(model.config));
  const TaskModel made = HONE_TRY(TaskModel::make(task, model, backend->spec().host_lane));
  RunProgram program = HONE_TRY(find_program(s, made));
  program.program.name = s.program;  // its sizes are those of the flags
  HONE_TRY(show(s, std::move(program), *backend));
  return kExitDone;
}

}  // namespace

Command command_graph() {
  return {.name = "graph",
          .summary =
              "print a model's program after any pass, its memory plan, or a trace of its values",
          .run = run_graph};
}

}  // namespace hone
