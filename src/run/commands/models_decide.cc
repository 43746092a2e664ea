#include "run/commands/models_decide.h"

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "operate/pipeline/runner.h"
#include "operate/registry/decide.h"
#include "operate/registry/errors.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/registry_json.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/models_endpoints.h"

namespace hone {
namespace {

Error without_rows(const ModelVersion& v) {
  return Error(err::kExamples, fmt::format("{} has no saved rows of an evaluation", v.reference()))
      .todo(fmt::format(
          "evaluate it: hone eval ... --model_name_or_path {} --save_examples --output_dir E; then "
          "hone models register --name {} --model {} --evaluation E",
          v.source, v.model, v.source));
}

// The model evaluated as `like` was, on its first rows alone where `rows` is not 0.
Result<Evaluation> evaluate_like(const Evaluation& like, const ModelVersion& v, int64_t rows,
                                 const std::vector<std::string>& more) {
  const auto settings = like.run.is_object() ? like.run.find("settings") : like.run.end();
  if (!like.run.is_object() || settings == like.run.end() || !settings->is_object())
    return Error(err::kExamples,
                 fmt::format("'{}' does not say how the rows were evaluated", like.folder))
        .todo("evaluate again with hone eval --save_examples");
  const TemporaryFolder folder("hone_decide");
  const std::string config = folder.path + "/settings.json", out = folder.path + "/out";
  HONE_TRY(file_store().write(config, dump_json(*settings)));
  std::vector<std::string> argv = {"/proc/self/exe",       "eval",   "--config",     config,
                                   "--model_name_or_path", v.source, "--output_dir", out,
                                   "--save_examples",      "true",   "--json",       "false"};
  if (rows > 0)
    argv.insert(argv.end(), {"--max_eval_samples", std::to_string(rows), "--slice_columns", ""});
  argv.insert(argv.end(), more.begin(), more.end());
  CommandOptions options;
  if (const std::string from = text_at(like.run, "folder"); is_folder(from)) options.folder = from;
  const CommandOutput done = HONE_TRY(run_command(argv, options));
  if (done.status != 0) {
    Error e(err::kEvaluationFailed,
            fmt::format("{} could not be evaluated (status {})", v.reference(), done.status));
    for (const std::string& line : lines_of_failure(done.error, done.err)) e.at(line);
    return std::move(e).todo(
        fmt::format("correct that, or promote by hand: hone models promote {}", v.reference()));
  }
  Evaluation e = HONE_TRY(read_evaluation(out));
  e.folder = v.source;
  return e;
}

// The registered files against what their evaluation recorded.
Result<ParityCheck> parity_of(const ModelVersion& v, const Evaluation& recorded,
                              const DecisionPolicy& policy) {
  ParityCheck failed;
  const std::string hash = HONE_TRY(hash_model(v.source));
  if (hash != v.hash) {
    failed.passed = false;
    failed.reason = fmt::format("the files in '{}' are not those that were registered", v.source);
    failed.evidence = {{"registered", v.hash}, {"found", hash}};
    return failed;
  }
  std::vector<std::string> more;
  if (policy.parity_dtype == "bf16") more = {"--dtype", "bfloat16"};
  if (policy.parity_dtype == "int8") more = {"--load_in_8bit", "true"};
  const Evaluation now = HONE_TRY(evaluate_like(recorded, v, policy.parity_rows, more));
  return check_parity(recorded, now, policy);
}

struct ChampionRows {
  Evaluation evaluation;
  std::string caution;
};

// The champion on the rows of the other version.
Result<ChampionRows> rows_of_champion(const ModelVersion& champion, const ModelVersion& v,
                                      const Evaluation& rows) {
  std::string caution;
  std::string why = "was not evaluated row by row";
  if (!champion.evaluation.empty()) {
    Result<Evaluation> recorded = read_evaluation(champion.evaluation);
    if (recorded.ok()) {
      const std::string differs = differing_rows(rows, *recorded);
      if (differs.empty()) return ChampionRows{std::move(*recorded), ""};
      caution = fmt::format(
          "{} may have been trained on some of these rows, which favours it: keep the same "
          "validation rows for all versions",
          champion.reference());
      why = "was evaluated on other rows: " + differs;
    } else {
      why = "has lost its evaluation: " + recorded.error().what();
    }
  }
  log_info("{:<11} {} again, which {}", "evaluating", champion.reference(), why);
  Evaluation again = HONE_TRY(evaluate_like(rows, champion, 0, {}));
  if (const std::string differs = differing_rows(rows, again); !differs.empty())
    return Error(err::kExamples, fmt::format("{} and {} cannot be compared row by row: {}",
                                             v.reference(), champion.reference(), differs))
        .at(rows.folder)
        .todo(
            "models with different tokenizers have different blocks of a text; compare them on "
            "rows, or evaluate "
            "both again if the data have changed");
  return ChampionRows{std::move(again), std::move(caution)};
}

}  // namespace

bool is_typed_policy(const std::string& text) { return trim(text).starts_with('{'); }

Result<DecisionPolicy> read_policy(const std::string& text) {
  if (is_typed_policy(text)) return parse_policy(text, "--policy");
  return parse_policy(HONE_TRY(file_store().read(text)), text);
}

Result<int> decide_version(const DecideRequest& q, Registry& registry) {
  DecisionPolicy policy = HONE_TRY(read_policy(q.policy));
  if (!q.parity_dtype.empty()) policy.parity_dtype = q.parity_dtype;
  const ModelVersion v = q.version > 0 ? HONE_TRY(registry.version(q.name, q.version))
                                       : HONE_TRY(registry.versions(q.name)).back();
  const RegisteredModel model = HONE_TRY(registry.model(q.name));
  const auto alias = model.aliases.find(q.alias);
  std::optional<ModelVersion> champion;
  if (alias != model.aliases.end()) champion = HONE_TRY(registry.version(q.name, alias->second));
  const bool compares = champion && champion->number != v.number;
  if (compares && v.evaluation.empty()) return without_rows(v);
  std::optional<Evaluation> rows;
  std::optional<ChampionRows> champion_rows;
  if (!v.evaluation.empty()) rows = HONE_TRY(read_evaluation(v.evaluation));
  DecisionInput input{.version = v, .alias = q.alias};
  if (rows) input.evaluation = &*rows;
  if (champion) input.against = &*champion;
  const bool again = champion && !compares;  // the version is the champion already
  if (policy.parity_rows > 0 && rows && !again)
    input.parity = HONE_TRY(parity_of(v, *rows, policy));
  if (policy.parity_rows > 0 && !rows && !again)
    log_warning("{} has no saved rows of an evaluation: its files are not checked", v.reference());
  if (compares && (!input.parity || input.parity->passed)) {
    champion_rows = HONE_TRY(rows_of_champion(*champion, v, *rows));
    input.against_evaluation = &champion_rows->evaluation;
    input.caution = champion_rows->caution;
  }
  const Decision decision = HONE_TRY(registry.record(HONE_TRY(decide(input, policy)), q.alias));
  const std::string text = dump_json(decision_json(decision), {.indent = 2}) + "\n";
  if (!q.output.empty()) HONE_TRY(file_store().write(q.output, text));
  if (q.json)
    print_out(dump_json(decision_json(decision)) + "\n");
  else
    log_info("{:<11} {}: {}", decision.verdict, v.reference(), decision.reason);
  // Servers do not follow an alias by themselves.
  if (!q.json && decision.verdict == "promote" && q.alias == kChampion)
    HONE_TRY(follow_alias(registry, v, {}));
  return kExitDone;
}

}  // namespace hone
