// hone prepare --task T: text once tokenised and grouped, in shards that hone train maps.
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "learn/data/shards.h"
#include "learn/tasks/text_rows.h"
#include "learn/train/run_lock.h"
#include "run/commands/command.h"
#include "run/commands/task_choice.h"

namespace hone {
namespace {

struct PrepareOnly {
#define HONE_SETTINGS "run/commands/prepare.def"
#include "base/settings/fields.inc"
};

Status check_whole(const DataSettings& s) {
  for (const auto& [flag, given] :
       {std::pair("max_train_samples", s.max_train_samples >= 0),
        std::pair("max_eval_samples", s.max_eval_samples >= 0),
        std::pair("fraction_of_train_data", s.fraction_of_train_data < 1)})
    if (given)
      return Error(err::kSplit, fmt::format("--{} means nothing here: all rows are prepared", flag))
          .todo("give it to hone train, which takes the first rows of the shards");
  return Ok{};
}

Result<int> run_prepare(const std::vector<std::string>& args) {
  PrepareOnly s;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone prepare",
                            .summary = "tokenise and group text once, for training from shards",
                            .task_help = "what the model will learn",
                            .more = [&](Schema& schema) { s.bind(schema); },
                            .data_only = true},
                           args));
  if (!chosen->settings) return kExitDone;
  const TaskSettings& task = *chosen->settings;
  const TextRows& rows = *task.text_rows();
  HONE_TRY(check_whole(task));
  OpenOptions open;
  open.tokenizer_name = s.tokenizer_name;
  open.revision = s.model_revision;
  open.cache_dir = s.cache_dir;
  open.token = s.token;
  open.need_weights = false;
  open.need_tokenizer = false;
  Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, open));
  HONE_TRY(task.choose_head(model.config));
  ThreadPool pool(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size());

  std::vector<std::string> notes;
  CausalFiles files = HONE_TRY(rows.files(
      model, {!task.train_file.empty() || !task.dataset_name.empty(), true, s.cache_dir, s.token},
      notes));
  files.eval_optional = true;
  PrepareOptions options;
  options.folder = s.output_dir;
  while (options.folder.size() > 1 && options.folder.ends_with('/')) options.folder.pop_back();
  options.settings = rows.shard_settings(model, files.causal, true);
  options.max_shard_tokens = std::max<int64_t>(1, static_cast<int64_t>(s.max_shard_size.bytes) / 4);
  options.settings["max_shard_size"] = s.max_shard_size.bytes;
  install_stop_handlers();
  options.progress = [](const std::string& split, int64_t tokens) {
    log_info("{:<11} {} tokens of {}", "prepared", tokens, split);
    return stop_requested() ? 1 : 0;
  };
  const std::vector<CausalPart> parts = HONE_TRY(find_parts(files, notes));
  for (const std::string& note : notes) log_info("{:<11} {}", "data", note);
  // One process at a time, and nothing half-written by one that was killed stays.
  const RunLock lock = HONE_TRY(RunLock::take(options.folder));
  for (const char* split : {"/train", "/validation"})
    if (HONE_TRY(file_store().exists(options.folder + split)))
      HONE_TRY(RunLock::take(options.folder + split));
  if (s.overwrite_output_dir) HONE_TRY(remove_shards(options.folder));
  const Prepared done = HONE_TRY(prepare_shards(parts, options, rows.tokenize(model, &pool)));
  for (const std::string& note : done.notes) log_info("{:<11} {}", "data", note);
  if (done.stopped) {
    log_info("{:<11} the same command goes on from here", "stopped");
    return 128 + stop_signal();
  }
  for (const ShardSplit& split : done.manifest.splits)
    log_info("{:<11} {}/{}: {} rows, {} tokens in {} shards{}", "shards", options.folder,
             split.name, split.rows(), split.tokens(), split.shards.size(),
             done.was_there ? " (were there already)" : "");
  return kExitDone;
}

}  // namespace

Command command_prepare() {
  return {.name = "prepare",
          .summary = "tokenise and group text once, for training from shards",
          .run = run_prepare};
}

}  // namespace hone
