// PiSSA (arXiv 2404.02948): an adapter begins with the largest singular values of its layer, and the layer keeps the
// rest, as PEFT's init_lora_weights "pissa" and "pissa_niter_N" do.
#pragma once

#include <vector>

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/models/family.h"

namespace hone {

// With W of a layer, its scale s and W = U diag(S) V: writes A = diag(sqrt(S / s)) V and B = U diag(sqrt(S / s)) of the
// largest r values, and W - s B A. Keeps A and B in config.adapter->first. H2305: ranks divide a layer.
Status take_principal_parts(Session& session, const ModelConfig& config);

// The trained adapter as LoRA of the unchanged model, of twice the rank: A with the first A below it, B with the
// first -B beside it. PEFT's path_initial_model_for_weight_conversion does the same. `tensors`: the states of the run.
std::vector<TensorData> lora_of_pissa(const Session& session, const ModelConfig& config,
                                      std::vector<TensorData> tensors);
// Its config: ranks and alphas, so that scales stay.
std::shared_ptr<const Adapter> lora_of_pissa(const Adapter& adapter);

}  // namespace hone
