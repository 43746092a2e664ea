#include "learn/harness/shard_cache.h"

#include <unistd.h>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/core/version.h"
#include "base/store/hash.h"
#include "base/store/store.h"

namespace hone {
namespace {

// The shards of one file, from the cache or made into it.
Result<PreparedPart> cached_part(const std::string& cache, const Task& task,
                                 const Pretrained& model, ThreadPool& pool,
                                 const PrepareOptions& options, const std::string& split,
                                 const std::string& file) {
  OrderedJson what = {{"hone", version()}, {"split", split}, {"settings", options.settings}};
  what["sha256"] = HONE_TRY(sha256_of_file(file_store(), file));
  const std::string key = sha256_of_text(dump_json(what));
  const PreparedPart part{split, without_end_slash(cache) + "/" + key.substr(0, 32)};
  if (HONE_TRY(file_store().exists(part.folder))) {
    log_info("{:<11} {} of {}: from the cache", "prepared", split, last_part(file));
    return part;
  }
  TaskSettings& settings = *task.settings;
  settings.do_train = split == "train";
  settings.do_eval = split == "validation";
  settings.do_predict = split == "test";
  LabelSources sources;
  (settings.do_train  ? sources.train
   : settings.do_eval ? sources.validation
                      : sources.test) = {file};
  PrepareOptions own = options;
  own.folder = fmt::format("{}.{}.part", part.folder, ::getpid());
  HONE_TRY(file_store().remove_all(own.folder));
  const Prepared made =
      HONE_TRY(prepare_rows({{split, {file}}}, own, [&]() -> Result<std::vector<RowSplit>> {
        std::vector<std::string> notes;
        auto read = task.prepared->splits(model, sources, pool, notes);
        show_notes(described(task), notes);
        return read;
      }));
  if (made.stopped) return PreparedPart{split, ""};
  // Another process may have made the same.
  if (HONE_TRY(file_store().exists(part.folder)))
    HONE_TRY(file_store().remove_all(own.folder));
  else
    HONE_TRY(file_store().rename(own.folder, part.folder));
  return part;
}

}  // namespace

std::string why_not_by_file(const Task& task, const std::vector<PreparedFiles>& splits) {
  const TaskSettings& settings = *task.settings;
  std::string why;
  if (!task.prepared->splits_by_file)
    why = "rows of this task are numbered together";
  else if (settings.do_train && settings.do_eval && splits.size() < 2)
    why = "the validation rows are a share of the training rows";
  for (const PreparedFiles& split : splits)
    for (const std::string& file : split.files) {
      const std::string name = to_lower(last_part(file));
      bool known = false;
      for (const char* end : {".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow"})
        known |= name.find(end) != std::string::npos;
      if (!known) why = fmt::format("'{}' may belong to another file", file);
    }
  return why;
}

Result<Prepared> prepare_by_file(const std::string& cache, const Task& task,
                                 const Pretrained& model, ThreadPool& pool,
                                 const PrepareOptions& options,
                                 const std::vector<PreparedFiles>& splits) {
  HONE_TRY(file_store().make_dirs(cache));
  std::vector<PreparedPart> parts;
  for (const PreparedFiles& files : splits)
    for (const std::string& file : files.files) {
      parts.push_back(HONE_TRY(cached_part(cache, task, model, pool, options, files.split, file)));
      if (!parts.back().folder.empty()) continue;
      Prepared stopped;
      stopped.stopped = true;
      return stopped;
    }
  return merge_shards(splits, parts, options);
}

}  // namespace hone
