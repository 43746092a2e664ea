// hone score: metrics of a file of predictions against files of references (score_files.h).
#include "base/core/json.h"
#include "learn/files/score_files.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/in_flags.h"

namespace hone {
namespace {

struct ScoreSettings {
#define HONE_SETTINGS "run/commands/score.def"
#include "base/settings/fields.inc"
};

Result<ScoreOptions> score_options(const ScoreSettings& s) {
  ScoreOptions o;
  o.predictions = s.predictions;
  o.predictions_column = s.predictions_column;
  o.references = s.references;
  o.references_column = s.references_column;
  o.metrics = glue_metrics(s.task_name);
  o.metrics.insert(o.metrics.end(), s.metric.begin(), s.metric.end());
  if (o.metrics.empty())
    return Error(err::kMissingArgument, "no metric is named")
        .todo(
            "name some with --metric, such as --metric rouge bleu, or a GLUE task with "
            "--task_name");
  o.mean = !s.task_name.empty();
  o.how.average = s.f1_average;
  o.how.use_stemmer = s.use_stemmer;
  const auto tokenizers = bleu_tokenizer_names();
  o.how.bleu_tokenizer = static_cast<BleuTokenizer>(
      std::find(tokenizers.begin(), tokenizers.end(), s.tokenize) - tokenizers.begin());
  o.how.chrf_word_order = static_cast<int>(s.chrf_word_order);
  o.positive_label = s.pos_label;
  if (s.sentence_split == "nltk") o.nltk_data = s.nltk_data;
  o.bootstrap = {.samples = s.bootstrap_samples,
                 .seed = static_cast<uint64_t>(s.seed),
                 .confidence = s.confidence};
  return o;
}

// A line of the table. `scale` is that of the value, which is shown on a scale of 100.
std::string score_line(const std::string& name, const OrderedJson& value, double scale) {
  if (!value.is_number_float()) return fmt::format("{:<22}{}\n", name, value.dump());
  return fmt::format("{:<22}{:.4f}\n", name, value.get<double>() * 100 / scale);
}

std::string table(const OrderedJson& results) {
  const OrderedJson none,
      &intervals = results.contains("bootstrap") ? results["bootstrap"]["intervals"] : none;
  std::string text =
      fmt::format("{:<22}of 100{}\n", "metric", intervals.is_null() ? "" : "   interval");
  for (const auto& [name, scale] : results["scale"].items()) {
    std::string row = score_line(name, results[name], scale.get<double>());
    if (intervals.contains(name)) {
      const double factor = 100 / scale.get<double>();
      row.pop_back();
      row += fmt::format("  [{:.4f}, {:.4f}]\n", intervals[name][0].get<double>() * factor,
                         intervals[name][1].get<double>() * factor);
    }
    text += row;
  }
  text += score_line("examples", results["examples"], 1);
  if (!results.contains("details")) return text;
  for (const auto& [name, more] : results["details"].items()) {
    if (more.contains("signature")) {
      text += fmt::format("{:<22}{}\n", name + " signature", more["signature"].get<std::string>());
      continue;
    }
    for (const auto& [type, values] : more.items())  // by type of what is counted
      for (const auto& [what, value] : values.items())
        text += score_line(type + " " + what, value, 1);
  }
  return text;
}

Result<int> score(const ScoreSettings& s) {
  const ScoreOptions options = HONE_TRY(score_options(s));
  const OrderedJson results = HONE_TRY(score_files(options));
  print_out(s.json ? dump_json(results) + "\n" : table(results));
  return kExitDone;
}

Result<int> run_score(const std::vector<std::string>& args) {
  ScoreSettings s;
  Schema schema("hone score", "compare a file of predictions with references");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  return in_flags(schema, score(s));
}

}  // namespace

Command command_score() {
  return {.name = "score",
          .summary = "compare a file of predictions with references",
          .in = CommandGroup::kUse,
          .run = run_score};
}

}  // namespace hone
