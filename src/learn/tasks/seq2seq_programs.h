// The programs of tasks that learn a target from a source (summaries, translations).
//
//   inputs  decoder: ids, positions, labels i32[Td], cu_seqlens i32[S+1]
//           ids are the start token and then the labels, shifted by one (learn/data/batches/pair_batch.h)
//           encoder: encoder_ids, encoder_positions i32[Te], encoder_cu_seqlens i32[S+1]
//           for training also sample_ids i64[Td], encoder_sample_ids i64[Te],
//           rng i64[2] = {seed, step},
//           scale f32[] = 1 / label tokens of the optimizer step
//   train   output loss f32[] = scale * sum of nll; gradients in the states grad.<weight>
//   eval    outputs nll f32[Td] (0 where there is no label), correct i32[Td]
#pragma once

#include "learn/models/family.h"

namespace hone {

struct PairShape {
  int64_t source_tokens = 0;  // Te
  int64_t target_tokens = 0;  // Td
  int64_t slots = 0;          // S
};

// Adds the inputs of both sides, in training those of randomness too, and binds them to the graph.
void add_pair_inputs(ModelGraph& g, const PairShape& shape);

// Before any pass.
Program build_seq2seq_train(const ModelConfig& config, const PairShape& shape,
                            const std::string& name, double label_smoothing = 0);
Program build_seq2seq_eval(const ModelConfig& config, const PairShape& shape,
                           const std::string& name, double label_smoothing = 0);

}  // namespace hone
