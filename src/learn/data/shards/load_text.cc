#include "learn/data/shards/load_text.h"

#include "learn/data/rows/count_text.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/data/shards/shards.h"

namespace hone {

Result<TextSplits> load_text(const TextFiles& given, const Tokenize& tokenize) {
  TextSplits out;
  const auto keep = [&](const std::string& split, TextData data) -> Status {
    const bool train = split == kTrainSplit;
    data.rows.keep_first(HONE_TRY(
        selected_rows(data.rows.size(), train ? given.max_train_samples : given.max_eval_samples,
                      train ? given.fraction_of_train_data : 1)));
    out.notes.push_back(fmt::format("{}: {}", split, describe(data.counts, given.options)));
    if (data.rows.size() < data.counts.rows_kept)
      out.notes.push_back(
          fmt::format("{}: the first {} of these are used", split, grouped(data.rows.size())));
    (train ? out.train : out.eval) = std::move(data);
    return Ok{};
  };
  // Splits that shards provide are not read from files.
  TextFiles files = given;
  if (!files.train_files.empty() && is_shard_folder(files.train_files[0])) {
    const ShardManifest shards = HONE_TRY(checked_shards(files.train_files, files.shard_settings));
    if (files.want_train)
      HONE_TRY(keep(kTrainSplit, HONE_TRY(open_shards(files.train_files[0], shards, kTrainSplit))));
    files.want_train = false;
    if (files.validation_files.empty()) files.validation_files = files.train_files;
  }
  if (!files.validation_files.empty() && is_shard_folder(files.validation_files[0])) {
    const ShardManifest shards =
        HONE_TRY(checked_shards(files.validation_files, files.shard_settings));
    if (files.want_eval)
      HONE_TRY(keep(kValidationSplit,
                    HONE_TRY(open_shards(files.validation_files[0], shards, kValidationSplit))));
    files.want_eval = false;
  }
  if (!files.want_train && !files.want_eval) return out;
  for (const TextPart& part : HONE_TRY(find_parts(files, out.notes)))
    HONE_TRY(keep(part.split, HONE_TRY(read_part(part, tokenize))));
  return out;
}

}  // namespace hone
