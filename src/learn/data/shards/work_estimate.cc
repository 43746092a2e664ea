#include "learn/data/shards/work_estimate.h"

#include <algorithm>

#include "base/core/clock.h"
#include "base/store/store.h"
#include "learn/data/rows/files.h"
#include "learn/data/shards/work_plan.h"

namespace hone {
namespace {

constexpr int64_t kSampleBytes = int64_t{2} << 20;

}  // namespace

Result<WorkEstimate> estimate_work(const std::vector<TextPart>& parts, const DedupOptions& dedup,
                                   int64_t workers, const Tokenize& tokenize) {
  WorkEstimate estimate;
  for (const TextPart& part : parts)
    for (const std::string& file : part.files) {
      ++estimate.files;
      estimate.source_bytes += HONE_TRY(file_store().bytes(file));
    }
  const TextPart& part = parts[0];
  int64_t bytes = 0;
  double key_seconds = 0;
  Fingerprints prints(dedup);
  std::vector<TextKey> keys;
  const Tokenize counted = [&](std::span<const std::string_view> texts,
                               std::vector<std::vector<int32_t>>& ids) -> Status {
    for (const std::string_view text : texts) bytes += static_cast<int64_t>(text.size());
    if (dedup.kind != DedupOptions::Kind::kNone) {
      const double begin = system_clock().seconds();
      for (const std::string_view text : texts) prints.keys_of(text, keys);
      key_seconds += system_clock().seconds() - begin;
    }
    return tokenize(texts, ids);
  };
  const double begin = system_clock().seconds();
  TextReader reader(HONE_TRY(open_rows({part.files[0]}, part.rows)), part.options, counted);
  TokenRows rows;
  while (bytes < kSampleBytes && HONE_TRY(reader.read(rows))) rows.clear();
  const double seconds = system_clock().seconds() - begin - key_seconds +
                         key_seconds / static_cast<double>(std::max<int64_t>(workers, 1));
  if (HONE_TRY(can_cut(part.files[0], part.rows))) bytes = reader.place().at.offset;
  const double times =
      static_cast<double>(estimate.source_bytes) / static_cast<double>(std::max<int64_t>(bytes, 1));
  estimate.tokens = times * static_cast<double>(reader.counts().tokens_read);
  estimate.seconds = times * seconds;
  return estimate;
}

}  // namespace hone
