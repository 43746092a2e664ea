#include "run/commands/evaluate_like.h"

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "learn/data/shards/shards.h"
#include "operate/pipeline/runner.h"
#include "operate/registry/errors.h"
#include "run/commands/errors.h"

namespace hone {

Result<Evaluation> evaluate_like(const Evaluation& like, const EvaluateLike& asked) {
  const ModelVersion& v = asked.version;
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
  if (asked.rows > 0)
    argv.insert(argv.end(),
                {"--max_eval_samples", std::to_string(asked.rows), "--slice_columns", ""});
  argv.insert(argv.end(), asked.more.begin(), asked.more.end());
  CommandOptions options;
  if (const std::string from = text_at(like.run, "folder"); is_folder(from)) options.folder = from;
  const CommandOutput done = HONE_TRY(run_command(argv, options));
  if (done.status != 0) {
    Error e(err::kEvaluationFailed,
            fmt::format("{} could not be evaluated (status {})", v.reference(), done.status));
    const std::string advice = done.error ? done.error->remedy() : "";
    std::optional<Error> cause = done.error;
    if (cause) cause->todo("");
    for (const std::string& line : lines_of_failure(cause, done.err)) e.at(line);
    return std::move(e).todo(fmt::format("{}, or promote by hand: hone models promote {}",
                                         advice.empty() ? "correct that" : advice,
                                         shell_word(asked.decided.reference())));
  }
  Evaluation e = HONE_TRY(read_evaluation(out));
  e.folder = v.source;
  return e;
}

std::optional<Evaluation> files_of_shards(const Evaluation& like) {
  if (!like.run.is_object() || !value_at(like.run, "settings").is_object()) return std::nullopt;
  const std::string folder = text_at(like.run, "folder");
  const auto here = [&](const std::string& path) {
    return path.starts_with('/') || folder.empty() ? path : folder + "/" + path;
  };
  std::string shards;
  for (const char* key : {"validation_file", "train_file"})
    if (const OrderedJson& given = value_at(value_at(like.run, "settings"), key);
        shards.empty() && given.is_array() && given.size() == 1 && given[0].is_string())
      shards = here(given[0].get<std::string>());
  if (shards.empty() || !is_shard_folder(shards)) return std::nullopt;
  const Result<ShardManifest> made = read_shard_manifest(shards);
  if (!made.ok()) return std::nullopt;
  Evaluation out = like;
  OrderedJson& settings = out.run["settings"];
  for (const auto& [name, value] : made->settings.items())
    if (settings.contains(name) && name != "task") settings[name] = value;
  std::map<std::string, OrderedJson> files;
  for (const OrderedJson& source : made->sources) {
    const std::string file = text_at(source, "file"), split = text_at(source, "split");
    if (!is_file(here(file))) return std::nullopt;
    files.try_emplace(split, OrderedJson::array()).first->second.push_back(file);
  }
  const bool has_own = files.contains("validation");
  settings["validation_file"] = has_own ? files["validation"] : OrderedJson::array();
  settings["train_file"] = has_own ? OrderedJson::array() : files["train"];
  return out;
}

}  // namespace hone
