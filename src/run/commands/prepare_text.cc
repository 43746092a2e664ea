#include "run/commands/prepare_text.h"

#include <utility>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/new_folders.h"
#include "base/store/store.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/shards/megatron_files.h"
#include "learn/data/shards/shared_prepare.h"
#include "run/commands/prepare_workers.h"
#include "run/commands/slice_columns.h"

namespace hone {
namespace {

bool is_megatron(const PrepareOnly& s) { return s.output_format == "megatron"; }

// The parts are read from their first row to the last, since nobody counts the rows.
Status check_parts(const std::vector<TextPart>& parts) {
  for (const TextPart& part : parts)
    if (part.options.first_row != 0 || part.options.end_row != INT64_MAX)
      return Error(err::kSplit, "--workers cannot keep a share of the rows for validation")
          .todo("give --validation_file, or --validation_split_percentage 0");
  return Ok{};
}

Status empty_folder(const std::string& folder) {
  HONE_TRY(remove_megatron(folder));
  return remove_shards(folder);
}

Result<OrderedJson> hashed_sources(const std::vector<TextPart>& parts) {
  std::vector<PreparedFiles> files;
  for (const TextPart& part : parts) files.push_back({part.split, part.files});
  return source_records(files);
}

DedupOptions dedup_options(const PrepareOnly& s) {
  using Kind = DedupOptions::Kind;
  return {.kind = s.dedup == "exact"     ? Kind::kExact
                  : s.dedup == "minhash" ? Kind::kMinHash
                                         : Kind::kNone,
          .num_perm = s.num_perm,
          .threshold = s.threshold,
          .ngram = s.ngram,
          .min_length = s.min_length};
}

// Settings of the work that decide the rows.
void add_work_settings(const PrepareOnly& s, OrderedJson& settings) {
  settings["work_item_size"] = s.work_item_size.bytes;
  settings["dedup"] = s.dedup;
  if (s.dedup == "minhash") {
    settings["num_perm"] = s.num_perm;
    settings["threshold"] = s.threshold;
    settings["ngram"] = s.ngram;
    settings["min_length"] = s.min_length;
  }
  settings["shuffle_seed"] = s.shuffle_seed ? OrderedJson(*s.shuffle_seed) : OrderedJson();
}

// `folder` is the user's, options.folder the one of the shards.
Result<Prepared> prepare_by_workers(const PrepareOnly& s, const std::vector<std::string>& args,
                                    const std::vector<TextPart>& parts, const std::string& folder,
                                    const PrepareOptions& options, const Tokenize& tokenize) {
  SharedWork work;
  work.item_bytes = std::max<int64_t>(1, static_cast<int64_t>(s.work_item_size.bytes));
  work.stale_s = s.lease_seconds;
  work.stops = stop_requested;
  work.finishes = !is_prepare_worker();
  work.dedup = dedup_options(s);
  if (s.shuffle_seed) work.shuffle_seed = static_cast<uint64_t>(*s.shuffle_seed);
  if (is_megatron(s)) work.ended = [&] { return has_megatron(folder); };
  work.progress = [shown = int64_t{-1}](int64_t done, int64_t items) mutable {
    if (std::exchange(shown, done) != done)
      log_info("{:<11} {} of {}", "prepared", grouped(done), count_of(items, "item"));
  };
  bool by_workers = false;
  if (!is_prepare_worker() && !work.ended()) {
    const SharedState state = HONE_TRY(plan_shared(parts, options, work));
    if (!state.finished) HONE_TRY(show_work(s, parts, options, state, work, tokenize));
    by_workers = !state.finished && s.workers > 1;
    if (by_workers) HONE_TRY(run_workers(s, args, options.folder, state.steps, work));
  }
  // Does the items that ended workers have left.
  Prepared made = HONE_TRY(prepare_shared(parts, options, work, tokenize));
  if (!by_workers || !made.was_there) return made;
  made.was_there = false;
  for (const TextPart& part : parts) {
    const ShardSplit split = HONE_TRY(find_split(made.manifest, part.split, options.folder));
    made.notes.push_back(fmt::format("{}: {}", part.split, describe(split.counts, part.options)));
  }
  return made;
}

void show_megatron(const std::string& folder, const MegatronFiles& made) {
  for (const MegatronFile& f : made.files)
    log_info("{:<11} {}/{}.bin and .idx: {}, {} of type {}{}", "megatron", folder, f.split,
             count_of(f.rows, "document"), count_of(f.tokens, "token"), f.type,
             made.prepared.was_there ? " (were there already)" : "");
}

}  // namespace

Status check_output(const PrepareOnly& s, const ChosenTask& chosen) {
  HONE_TRY(check_slice_columns(chosen, s.slice_columns));
  const bool is_text = chosen.task && chosen.task->text;
  if (chosen.task && !is_text && s.workers > 0)
    return Error(err::kSplit, "--workers share rows of text only").todo("leave --workers out");
  if (s.workers == 0 && (s.dedup != "none" || s.shuffle_seed))
    return Error(err::kSplit, fmt::format("{} is done by --workers",
                                          s.dedup != "none" ? "--dedup" : "--shuffle_seed"))
        .todo("give --workers N; --workers 1 is one process");
  if (is_text && s.workers > 0 && !s.slice_columns.empty())
    return Error(err::kSplit, "--slice_columns cannot be used with --workers")
        .todo("leave one of them out");
  if (!is_megatron(s)) return Ok{};
  if (is_text && s.slice_columns.empty()) return Ok{};
  return Error(err::kSplit, is_text ? "--slice_columns are kept in shards only"
                                    : "--output_format megatron holds rows of text only")
      .todo("leave --output_format out");
}

Result<RunLock> lock_folder(const PrepareOnly& s, const std::string& folder,
                            const std::vector<PreparedFiles>& splits) {
  RunLock lock = HONE_TRY(RunLock::take(folder));
  for (const PreparedFiles& files : splits)
    if (const std::string split = folder + "/" + files.split; HONE_TRY(file_store().exists(split)))
      HONE_TRY(RunLock::take(split));
  if (s.overwrite_output_dir) HONE_TRY(empty_folder(folder));
  return lock;
}

Result<Prepared> prepare_text(const PrepareOnly& s, const std::vector<std::string>& args,
                              const Task& task, const Pretrained& model, ThreadPool& pool,
                              PrepareOptions& options) {
  const TextSource& rows = *task.text;
  const bool train = !task.settings->train_file.empty() || !task.settings->dataset_name.empty();
  std::vector<std::string> notes;
  TextFiles files = HONE_TRY(rows.files(model, {train, true}, notes));
  files.eval_optional = true;
  if (is_megatron(s)) {
    files.options.grouping = Grouping::kRows;
    files.options.block_size = INT32_MAX;
  }
  options.settings = rows.shard_settings(model, files.options, true);
  if (is_megatron(s)) {
    options.settings.erase("block_size");
    options.settings.erase("packing");
    options.settings["output_format"] = s.output_format;
    options.settings["eos_token_id"] =
        files.options.eos ? OrderedJson(*files.options.eos) : OrderedJson();
  }
  options.settings["max_shard_size"] = s.max_shard_size.bytes;
  const std::vector<TextPart> parts = HONE_TRY(find_parts(files, notes));
  show_notes(notes);
  const LabelSources sources = HONE_TRY(sources_of(files));
  HONE_TRY(find_slice_columns(task, sources, s.slice_columns));
  const Tokenize tokenize = rows.tokenize(model, &pool);
  // Workers of several hosts make the folder, and each may still need it when one ends.
  const NewFolders made(s.workers > 0 ? "" : options.folder);
  std::optional<RunLock> lock;
  if (s.workers > 0) {
    HONE_TRY(check_parts(parts));
    add_work_settings(s, options.settings);
    if (s.overwrite_output_dir) HONE_TRY(empty_folder(options.folder));
  } else {
    lock.emplace(HONE_TRY(lock_folder(s, options.folder, {{"train", {}}, {"validation", {}}})));
  }
  const auto make = [&](const PrepareOptions& o) {
    return s.workers > 0 ? prepare_by_workers(s, args, parts, options.folder, o, tokenize)
                         : prepare_shards(parts, o, tokenize);
  };
  if (is_megatron(s)) {
    const OrderedJson from = HONE_TRY(s.workers > 0 ? source_sizes(parts) : hashed_sources(parts));
    MegatronFiles made = HONE_TRY(prepare_megatron(options, from, make));
    show_notes(std::exchange(made.prepared.notes, {}));
    show_megatron(options.folder, made);
    made.prepared.manifest.splits.clear();
    return std::move(made.prepared);
  }
  Prepared done = HONE_TRY(make(options));
  if (!done.stopped)
    HONE_TRY(keep_slices(options.folder, done.manifest, task, sources, s.slice_columns));
  return done;
}

}  // namespace hone
