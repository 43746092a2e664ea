// Helpers for tasks whose rows are token ids: fill the inputs of a program from rows, and check the ids.
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

// Packs the rows `rows` of `data` into the inputs of `to` with the names `names`. Fills names.sample_ids only if the
// program has this input. Errors: H0117 the file of the rows was changed.
Status collate_tokens(const TokenRows& data, const BatchRows& rows, const SequenceNames& names,
                      Batch& to);
// Returns H2415 if an id is negative or not below `vocab`. `whose`: the owner of the vocabulary, for the message.
Status check_ids(std::span<const int32_t> ids, int64_t vocab, const char* whose = "the model's");
// Returns H2415 if an id of a row, on any axis, is outside the vocabulary. If there are two axes, the first one has ids
// of the encoder. Does not check the last axis if its rows are in a mapped file: finish_tokens() checks them batch by
// batch.
Status check_ids(const ExampleRows& rows, const ModelConfig& config);
// Call this after the input `ids` has its final values. Returns H2415 if the model does not have one of these ids.
// Otherwise fills the input `positions` by the rule of the model family and, if the program has it, the input
// row_lengths: for each token the length of its sequence.
Status finish_tokens(const ModelConfig& config, Batch& to);

}  // namespace hone
