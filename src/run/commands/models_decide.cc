#include "run/commands/models_decide.h"

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/registry/decide.h"
#include "operate/registry/errors.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/registry_json.h"
#include "operate/registry/training_rows.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/evaluate_like.h"
#include "run/commands/models_endpoints.h"

namespace hone {
namespace {

Error without_rows(const ModelVersion& v) {
  return Error(err::kExamples, fmt::format("{} has no saved rows of an evaluation", v.reference()))
      .todo("evaluate it: " + commands_for_rows(v));
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
  const Evaluation now = HONE_TRY(evaluate_like(
      recorded, {.version = v, .decided = v, .rows = policy.parity_rows, .more = more}));
  return check_parity(recorded, now, policy);
}

struct ChampionRows {
  Evaluation evaluation;
  std::string caution = {};
  std::optional<Evaluation> own = {};  // of the other version, if both had to be evaluated again
};

// Whether the rows are some of the same data, such as with another --max_eval_samples.
bool same_data(const Evaluation& a, const Evaluation& b) {
  const std::string data = text_at(a.run, "data");
  return !data.empty() && data == text_at(b.run, "data");
}

// The champion on the rows of the other version.
Result<ChampionRows> rows_of_champion(Registry& registry, const ModelVersion& champion,
                                      const ModelVersion& v, const Evaluation& rows) {
  std::string caution;
  std::string why = "was not evaluated row by row";
  if (!champion.evaluation.empty()) {
    Result<Evaluation> recorded = read_evaluation(champion.evaluation);
    if (recorded.ok()) {
      const std::string differs = differing_rows(rows, *recorded);
      if (differs.empty()) return ChampionRows{std::move(*recorded), ""};
      if (!same_data(rows, *recorded) && HONE_TRY(may_know_more(registry, champion, v)))
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
  Result<Evaluation> again = evaluate_like(rows, {.version = champion, .decided = v});
  const std::string differs = again.ok() ? differing_rows(rows, *again) : "";
  if (again.ok() && differs.empty()) return ChampionRows{std::move(*again), std::move(caution)};
  if (const auto files = files_of_shards(rows)) {
    log_info(
        "{:<11} both on the files that the token shards were made from: the shards are of one "
        "tokenizer",
        "evaluating");
    Result<Evaluation> own = evaluate_like(*files, {.version = v, .decided = v}),
                       other = evaluate_like(*files, {.version = champion, .decided = v});
    if (own.ok() && other.ok() && differing_rows(*own, *other).empty())
      return ChampionRows{std::move(*other), std::move(caution), std::move(*own)};
  }
  if (!again.ok()) return std::move(again.error());
  return Error(err::kExamples, fmt::format("{} and {} cannot be compared row by row: {}",
                                           v.reference(), champion.reference(), differs))
      .at(rows.folder)
      .todo(
          "models with different tokenizers have different blocks of a text; compare them on "
          "rows, or evaluate "
          "both again if the data have changed");
}

Result<std::unique_ptr<Writer>> file_for_decision(const std::string& path) {
  if (is_folder(path))
    return Error(err::kMissingArgument, fmt::format("'{}' is a folder, not a file", path))
        .at("--output " + path)
        .todo(fmt::format("name a file, such as {}/decision.json", without_end_slash(path)));
  return file_store().create(path);
}

}  // namespace

std::string commands_for_rows(const ModelVersion& v) {
  const std::string model = shell_word(v.source);
  return fmt::format(
      "hone eval ... --model_name_or_path {} --save_examples --output_dir E; then hone models "
      "register --name {} --model {} --evaluation E",
      model, shell_word(v.model), model);
}

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
  std::unique_ptr<Writer> file;  // opened first: without it no decision is recorded
  if (!q.output.empty()) file = HONE_TRY(file_for_decision(q.output));
  std::optional<Evaluation> rows;
  std::optional<ChampionRows> champion_rows;
  if (!v.evaluation.empty()) rows = HONE_TRY(read_evaluation(v.evaluation));
  DecisionInput input{.version = v, .alias = q.alias};
  if (rows) input.evaluation = &*rows;
  if (champion) input.against = &*champion;
  const bool again = champion && !compares;  // the version is the champion already
  if (!again) HONE_TRY(check_names(v, input.evaluation, compares, policy));
  if (policy.parity_rows > 0 && rows && !again)
    input.parity = HONE_TRY(parity_of(v, *rows, policy));
  if (policy.parity_rows > 0 && !rows && !again)
    log_warning("{} has no saved rows of an evaluation: its files are not checked", v.reference());
  if (compares && (!input.parity || input.parity->passed)) {
    champion_rows = HONE_TRY(rows_of_champion(registry, *champion, v, *rows));
    input.against_evaluation = &champion_rows->evaluation;
    if (champion_rows->own) input.evaluation = &*champion_rows->own;
    input.caution = champion_rows->caution;
  }
  const Decision decision = HONE_TRY(registry.record(HONE_TRY(decide(input, policy)), q.alias));
  const std::string text = dump_json(decision_json(decision), {.indent = 2}) + "\n";
  if (file) {
    HONE_TRY(file->write(text));
    HONE_TRY(file->commit());
  }
  if (q.json)
    print_out(dump_json(decision_json(decision)) + "\n");
  else
    log_info("{:<11} {}: {}", decision.verdict, v.reference(), decision.reason);
  if (!q.json)
    for (const std::string& line : worse_slices(decision.evidence))
      log_info("{:<11} {}", "slice", line);
  // Servers do not follow an alias by themselves.
  if (!q.json && decision.verdict == "promote" && q.alias == kChampion)
    HONE_TRY(follow_alias(registry, v, {}));
  return kExitDone;
}

}  // namespace hone
