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
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/clm_programs.h"
#include "learn/tasks/run_programs.h"
#include "learn/tasks/seq2seq_programs.h"
#include "learn/trace/trace.h"
#include "learn/train/update.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

constexpr const char* kNull = "null";  // beside those of the shelf: it computes nothing

std::vector<std::string> backends_and_null() {
  std::vector<std::string> names = backend_names();
  names.emplace_back(kNull);
  return names;
}

struct GraphSettings {
#define HONE_SETTINGS "run/commands/graph.def"
#include "base/settings/fields.inc"
};

Result<std::unique_ptr<Backend>> choose_backend(const GraphSettings& s) {
  if (s.backend == kNull) return std::unique_ptr<Backend>(std::make_unique<NullBackend>());
  return open_backend(s.backend, {.threads = static_cast<int>(s.threads)});
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
                        op->grad ? "yes" : "-", fmt::join(operands, ", "),
                        attrs.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attrs, ", ")),
                        over.empty() ? "" : fmt::format("; {}", fmt::join(over, ", ")));
  }
  return text;
}

Program build_program(const GraphSettings& s, const ModelConfig& config) {
  const BatchShape shape{s.tokens, s.slots};
  // An encoder-decoder has as many tokens on either side, and encodes where others prefill.
  const bool two_sides = family_of(config).encoder != nullptr;
  const PairShape pairs{s.tokens, s.tokens, s.slots};
  if (s.program == "prefill" || s.program == "decode") {
    CacheLimits limits;
    limits.rows = s.slots;
    limits.tokens = config.max_positions;
    if (two_sides) {
      limits.sources = s.slots;
      limits.longest_source = config.max_positions;
    }
    return build_cached_program(
        config,
        {s.program == "decode" ? s.slots : s.tokens, s.slots, limits.pages(), limits.page,
         limits.blocks(), limits.sources * limits.source_blocks(), limits.source_blocks(),
         two_sides && s.program == "prefill"},
        s.program);
  }
  if (s.program == "eval")
    return two_sides ? build_seq2seq_eval(config, pairs, "eval")
                     : build_clm_eval(config, shape, "eval");
  if (s.program == "update") return build_update(update_weights(config), {});
  return two_sides ? build_seq2seq_train(config, pairs, s.program)
                   : build_clm_train(config, shape, s.program);
}

std::vector<Pass> passes_of(const GraphSettings& s, const ModelConfig& config) {
  const Precision precision = s.bf16 ? Precision::bf16 : Precision::f32;
  TrainSettings train;
  train.offload_optimizer_device = s.offload_optimizer_device;
  if (s.program == "update") return update_pipeline(train.optimizer_home());
  if (s.program == "step")
    return step_pipeline(
        [weights = update_weights(config)](Program& p) -> Result<bool> {
          append_update(p, weights, {});
          return true;
        },
        precision, train.optimizer_home());
  if (s.program == "train" || s.program == "accumulate")
    return train_pipeline(s.program == "accumulate", precision);
  return forward_pipeline(WeightStorage::f32, precision);
}

Status check_pass_names(const GraphSettings& s, const std::vector<Pass>& pipeline) {
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
                          fmt::join(names, ", ")));
  }
  return Ok{};
}

// Runs the passes up to s.after.
Result<std::vector<PassRecord>> run_until(Program& p, const GraphSettings& s,
                                          const ModelConfig& config, const Backend& backend) {
  std::vector<PassRecord> records;
  if (s.after == "build") return records;
  PassOptions options;
  options.off = {s.pass_off.begin(), s.pass_off.end()};
  std::vector<Pass> passes = passes_of(s, config);
  const auto last = std::find_if(passes.begin(), passes.end(),
                                 [&](const Pass& pass) { return pass.name == s.after; });
  if (last != passes.end()) passes.erase(last + 1, passes.end());
  records = HONE_TRY(run_passes(p, passes, options));
  if (s.after == "lower") p = HONE_TRY(lower(p, backend));
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

Result<int> run_graph(const std::vector<std::string>& args) {
  GraphSettings s;
  Schema schema("hone graph",
                "a model's program after any pass, its memory plan, or a trace of its values");
  s.bind(schema);
  schema.positional("model_name_or_path");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (s.ops) {
    print_out(catalogue());
    return kExitDone;
  }
  if (s.model_name_or_path.empty() && s.config_name.empty())
    return Error(err::kMissingArgument, "hone graph is given no model")
        .todo("name one with --model_name_or_path or --config_name; --ops needs none");
  if (s.trace.empty() != s.ids.empty())
    return Error(err::kMissingArgument, s.trace.empty() ? "--ids are given without --trace"
                                                        : "--trace is given without --ids")
        .todo("a trace needs both: --trace FILE --ids '5 6 7; 8 9'");

  OpenOptions options = open_options(s);
  options.need_tokenizer = false;
  options.need_weights = !s.trace.empty();
  options.writes_text = true;
  const Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, options));
  const auto backend = HONE_TRY(choose_backend(s));

  if (!s.trace.empty()) {
    if (model.weights == nullptr)
      return Error(err::kMissingArgument, "a trace needs weights")
          .todo("name a model with --model_name_or_path");
    if (!backend->computes())
      return Error(err::kMissingArgument, "the null backend computes nothing")
          .todo("--backend cpu or reference");
    const std::vector<TracedTensor> traced =
        HONE_TRY(trace_clm(model, HONE_TRY(read_ids(s.ids)), *backend, {.fuse = s.fuse}));
    HONE_TRY(save_trace(s.trace, traced));
    log_info("{}: {} tensors", s.trace, traced.size());
    return kExitDone;
  }

  HONE_TRY(check_pass_names(s, passes_of(s, model.config)));
  Program p = build_program(s, model.config);
  const Program built = p;
  const std::vector<PassRecord> records = HONE_TRY(run_until(p, s, model.config, *backend));
  if (s.passes) {
    print_out(pass_table(built, records));
  } else if (s.plan) {
    std::vector<Program> programs;
    programs.push_back(std::move(p));
    print_out(plan_text(HONE_TRY(Session::compile(std::move(programs), *backend))));
  } else {
    p.compact();
    print_out(print(p));
  }
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
