#include "learn/harness/collate.h"

#include "learn/harness/errors.h"
#include "learn/models/family.h"

namespace hone {

RowLabels take_rows(std::optional<LabelledRows>& from, std::optional<ExampleRows>& to) {
  if (!from) return {};
  to.emplace(std::move(from->rows));
  return std::move(from->labels);
}

Status collate_tokens(const TokenRows& data, const BatchRows& rows, const SequenceNames& names,
                      Batch& to) {
  return pack_rows(data, rows,
                   {to.get<int32_t>(names.ids), to.get<int32_t>(names.positions),
                    to.get<int32_t>(names.cu_seqlens), to.get_if<int64_t>(names.sample_ids)});
}

Status check_ids(std::span<const int32_t> ids, int64_t vocab, const char* whose) {
  const auto limit = static_cast<uint32_t>(vocab);
  for (const int32_t id : ids)
    if (static_cast<uint32_t>(id) >= limit)
      return Error(err::kUnknownId,
                   fmt::format("token {} is outside {} vocabulary of {}", id, whose, limit))
          .todo("use the tokenizer that belongs to the model");
  return Ok{};
}

Status check_ids(const ExampleRows& rows, const ModelConfig& config) {
  for (size_t a = 0; a < rows.axes.size(); ++a) {
    const TokenRows& axis = rows.axes[a];
    const bool encoder = a + 1 < rows.axes.size();
    if (axis.is_mapped() && !encoder) continue;  // batch by batch
    for (int64_t i = 0; i < axis.size(); ++i)
      HONE_TRY(check_ids(axis.row(i), encoder ? config.source_vocab : config.vocab,
                         encoder ? "the encoder's" : "the model's"));
  }
  return Ok{};
}

Status finish_tokens(const ModelConfig& config, Batch& to) {
  const auto ids = to.get<int32_t>("ids");
  HONE_TRY(check_ids(ids, config.vocab));
  count_positions(config, ids, to.get<int32_t>("positions"));
  const auto lengths = to.get_if<float>("row_lengths");
  if (lengths.empty()) return Ok{};
  const auto ends = to.get<int32_t>("cu_seqlens");
  for (size_t i = 0; i + 1 < ends.size(); ++i)
    std::fill(lengths.begin() + ends[i], lengths.begin() + ends[i + 1],
              static_cast<float>(ends[i + 1] - ends[i]));
  return Ok{};
}

}  // namespace hone
