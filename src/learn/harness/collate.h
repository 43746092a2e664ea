// Helpers for tasks on token ids: fill the inputs of a program from rows, and check the ids.
#pragma once

#include "learn/data/rows/labelled_rows.h"
#include "learn/harness/examples.h"
#include "learn/models/config.h"

namespace hone {

// Moves the rows of `from` into `to` and returns their labels. If `from` is empty, leaves `to` as it is and returns no
// labels.
RowLabels take_rows(std::optional<LabelledRows>& from, std::optional<ExampleRows>& to);

// Names of a program's inputs for the tokens of the decoder, or of the encoder. See SequenceInputs for their meaning.
struct SequenceNames {
  const char *ids, *positions, *cu_seqlens, *sample_ids;
};
inline constexpr SequenceNames kDecoderInputs{"ids", "positions", "cu_seqlens", "sample_ids"};
inline constexpr SequenceNames kEncoderInputs{"encoder_ids", "encoder_positions",
                                              "encoder_cu_seqlens", "encoder_sample_ids"};

// Packs these rows of `data` into the inputs of `to` with these names; fills sample_ids only if the program has this
// input. Errors: H0117 the file of the rows was changed.
Status collate_tokens(const TokenRows& data, const BatchRows& rows, const SequenceNames& names,
                      Batch& to);
// H2415 if an id is negative or not below `vocab`. `whose`: the owner of the vocabulary in the message.
Status check_ids(std::span<const int32_t> ids, int64_t vocab, const char* whose = "the model's");
// Checks the ids of all rows on each axis (H2415). If there are two axes, the first one has ids of the encoder. Rows of
// a mapped file on the last axis are not checked here: finish_tokens() checks them batch by batch.
Status check_ids(const ExampleRows& rows, const ModelConfig& config);
// Call this after the input `ids` has its final values. Checks that the model has these ids (H2415), and fills
// `positions` by the rule of the model family and, if the program has it, row_lengths.
Status finish_tokens(const ModelConfig& config, Batch& to);

}  // namespace hone
