// PiSSA (arXiv 2404.02948): a LoRA adapter starts as the part of its layer's weight that belongs to the largest
// singular values, and the frozen weight keeps the rest. PEFT: init_lora_weights "pissa" and "pissa_niter_N".
#pragma once

#include <vector>

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/models/family.h"

namespace hone {

// Initializes the adapter of every adapted layer in the session's states. A layer has the weight W [out,in] with the
// singular value decomposition W = U diag(S) V; its adapter has the scale s and the rank r. With the r largest
// singular values, writes
//   A [r,in]  = diag(sqrt(S / s)) V
//   B [out,r] = U diag(sqrt(S / s))
//   W - s B A in the place of W
// and copies A and B into config.adapter->first. H2305: a weight is divided among the processes of the run.
Status take_principal_parts(Session& session, const ModelConfig& config);

// Converts the trained adapter into LoRA for the original model, whose weights are still W. The result has twice the
// rank: the initial A is appended as rows to the trained A, the negative of the initial B as columns to the trained B.
// PEFT does this with path_initial_model_for_weight_conversion. `tensors`: the adapter's tensors to write, under the
// names of the session's states; the other tensors in it are returned unchanged.
std::vector<TensorData> lora_of_pissa(const Session& session, const ModelConfig& config,
                                      std::vector<TensorData> tensors);
// The adapter config for this conversion: ranks are doubled, and alphas grow so that each layer's scale stays the
// same.
std::shared_ptr<const Adapter> lora_of_pissa(const Adapter& adapter);

}  // namespace hone
