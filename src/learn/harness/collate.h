// What tasks on token ids share when they fill a batch.
#pragma once

#include "learn/data/rows/labelled_rows.h"
#include "learn/harness/examples.h"
#include "learn/models/config.h"

namespace hone {

// Gives a run the rows of a split, if there is one, and back what belongs to them.
RowLabels take_rows(std::optional<LabelledRows>& from, std::optional<ExampleRows>& to);

// The names of the inputs of one side of a program.
struct SequenceNames {
  const char *ids, *positions, *cu_seqlens, *sample_ids;
};
inline constexpr SequenceNames kDecoderInputs{"ids", "positions", "cu_seqlens", "sample_ids"};
inline constexpr SequenceNames kEncoderInputs{"encoder_ids", "encoder_positions",
                                              "encoder_cu_seqlens", "encoder_sample_ids"};

// Packs the rows of `data` into these inputs; sample_ids where the program has them. Errors: H0117.
Status collate_tokens(const TokenRows& data, const BatchRows& rows, const SequenceNames& names,
                      Batch& to);
// H2415 when an id is not below `vocab`. `whose`: "the model's".
Status check_ids(std::span<const int32_t> ids, int64_t vocab, const char* whose = "the model's");
// The same for all rows in memory, by axis; with two the first is the encoder's.
Status check_ids(const ExampleRows& rows, const ModelConfig& config);
// After ids are final: ids that the model does not have (H2415), and position numbers as the family
// counts them.
Status finish_tokens(const ModelConfig& config, Batch& to);

}  // namespace hone
