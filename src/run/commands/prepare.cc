// hone prepare --task T: data tokenised once, in shards that hone train maps or reads.
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/new_folders.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/shards/shards.h"
#include "learn/harness/shard_cache.h"
#include "run/commands/command.h"
#include "run/commands/data_paths.h"
#include "run/commands/in_flags.h"
#include "run/commands/prepare_text.h"
#include "run/commands/prepare_workers.h"
#include "run/commands/slice_columns.h"
#include "run/commands/task_choice.h"

namespace hone {
namespace {

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

Result<Prepared> prepare_labelled(const PrepareOnly& s, const Task& task, const Pretrained& model,
                                  ThreadPool& pool, PrepareOptions& options) {
  const PreparedSource& rows = *task.prepared;
  rows.choose_splits();
  options.settings = HONE_TRY(rows.shard_settings(model));
  options.settings["max_shard_size"] = s.max_shard_size.bytes;
  const LabelSources sources = HONE_TRY(rows.sources());
  show_notes(described(task), sources.notes);
  const std::vector<PreparedFiles> splits = HONE_TRY(split_files(sources));
  const NewFolders made(options.folder);
  const RunLock lock = HONE_TRY(lock_folder(s, options.folder, splits));
  HONE_TRY(find_slice_columns(task, sources, s.slice_columns));
  bool by_file = false;
  if (!s.shard_cache.empty()) {
    const std::string why = why_not_by_file(task, splits);
    by_file = why.empty();
    if (!by_file) log_info("{:<11} --shard_cache is not used: {}", "prepared", why);
  }
  const auto read = [&]() -> Result<std::vector<RowSplit>> {
    std::vector<std::string> notes;
    auto made = rows.splits(model, sources, pool, notes);
    show_notes(described(task), notes);
    return made;
  };
  Prepared done =
      HONE_TRY(by_file ? prepare_by_file(s.shard_cache, task, model, pool, options, splits)
                       : prepare_rows(splits, options, read));
  if (!done.stopped)
    HONE_TRY(keep_slices(options.folder, done.manifest, task, sources, s.slice_columns));
  return done;
}

Result<int> prepare(const Task& task, const PrepareOnly& s, const std::vector<std::string>& args) {
  TaskSettings& settings = *task.settings;
  HONE_TRY(check_whole(settings));
  settings.tokenizer_name = s.tokenizer_name;
  settings.model_revision = s.model_revision;
  settings.cache_dir = s.cache_dir;
  settings.token = s.token;
  if (settings.dataset_name.empty())
    for (const auto* files : {&settings.train_file, &settings.validation_file})
      HONE_TRY(check_data_files(*files));
  OpenOptions open = open_options(s);
  open.need_weights = false;
  open.need_tokenizer = false;
  Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, open));
  HONE_TRY(task.choose_head(model.config));
  ThreadPool pool(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size());

  PrepareOptions options;
  options.folder = without_end_slash(s.output_dir);
  options.max_shard_tokens = std::max<int64_t>(1, static_cast<int64_t>(s.max_shard_size.bytes) / 4);
  install_stop_handlers();
  options.progress = [](const std::string& split, int64_t tokens) {
    log_info("{:<11} {} of {}", "prepared", count_of(tokens, "token"), split);
    return stop_requested() ? 1 : 0;
  };
  const Prepared done = HONE_TRY(task.prepared ? prepare_labelled(s, task, model, pool, options)
                                               : prepare_text(s, args, task, model, pool, options));
  show_notes(done.notes);
  if (done.stopped && is_prepare_worker()) return kExitDone;
  if (done.stopped) {
    log_info("{:<11} the same command {}", "stopped",
             task.prepared ? "starts again" : "continues from here");
    return 128 + stop_signal();
  }
  for (const ShardSplit& split : done.manifest.splits)
    log_info("{:<11} {}/{}: {}, {} in {}{}", "shards", options.folder, split.name,
             count_of(split.rows(), "row"), count_of(split.tokens(), "token"),
             count_of(static_cast<int64_t>(split.shards.size()), "shard"),
             done.was_there ? " (were there already)" : "");
  return kExitDone;
}

Result<int> run_prepare(const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "imagenet")
    return run_command_named("prepare-imagenet", {args.begin() + 1, args.end()});
  PrepareOnly s;
  const auto chosen = HONE_TRY(
      choose_task({.name = "hone prepare",
                   .summary = "tokenise data once, for training from shards",
                   .task_help = "what the model will learn",
                   .more = [&](Schema& schema) { s.bind(schema); },
                   .takes = [](const Task& t) { return t.text || t.prepared; },
                   .data_only = true,
                   .check = [&](const ChosenTask& chosen) { return check_output(s, chosen); }},
                  args));
  if (!chosen->task) return kExitDone;
  return in_flags(chosen->schema, prepare(*chosen->task, s, args));
}

}  // namespace

Command command_prepare() {
  return {.name = "prepare",
          .summary = "tokenise data once, for training from shards",
          .in = CommandGroup::kTrain,
          .run = run_prepare};
}

}  // namespace hone
