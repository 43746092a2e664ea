// Helpers for tasks on token ids that fill a batch.
#pragma once

#include "learn/data/rows/labelled_rows.h"
#include "learn/harness/examples.h"
#include "learn/models/config.h"

namespace hone {

// Moves the rows of a split into the run's rows, if there are any, and returns their labels.
RowLabels take_rows(std::optional<LabelledRows>& from, std::optional<ExampleRows>& to);

// Names of the inputs of one side of a program.
struct SequenceNames {
  const char *ids, *positions, *cu_seqlens, *sample_ids;
};
inline constexpr SequenceNames kDecoderInputs{"ids", "positions", "cu_seqlens", "sample_ids"};
inline constexpr SequenceNames kEncoderInputs{"encoder_ids", "encoder_positions",
                                              "encoder_cu_seqlens", "encoder_sample_ids"};

// Packs the rows of `data` into these inputs; sample_ids if the program has them. Errors: H0117.
Status collate_tokens(const TokenRows& data, const BatchRows& rows, const SequenceNames& names,
                      Batch& to);
// H2415 if an id is not below `vocab`. `whose`: "the model's".
Status check_ids(std::span<const int32_t> ids, int64_t vocab, const char* whose = "the model's");
// Checks the ids of all rows in memory, on each axis. If there are two axes, the first is the
// encoder's.
Status check_ids(const ExampleRows& rows, const ModelConfig& config);
// Call when ids are final: checks that the model has them (H2415), and fills position numbers in
// the family's way, and row_lengths if the program has them.
Status finish_tokens(const ModelConfig& config, Batch& to);

}  // namespace hone
