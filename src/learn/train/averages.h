// Averages of the weights, which some optimizers and --ema_decay keep as states (kAverageState). Evaluations and
// saved models use them: meanwhile weights and averages exchange their places, bit for bit. A checkpoint
// has the averages as its weights, and the weights of training as the averages.
#pragma once

#include <string>
#include <vector>

#include "engine/session/session.h"

namespace hone {

class WeightAverages {
 public:
  // Those of these weights; may be none.
  void attach(Session& session, const std::vector<std::string>& weights);
  bool any() const { return !weights_.empty(); }

  // Whether the averages are in the places of the weights.
  bool in_use() const { return in_use_; }
  // The weights were read from a saved model or a checkpoint.
  void were_loaded() { in_use_ = true; }
  // Errors: those of the session.
  Status exchange();

 private:
  Session* session_ = nullptr;
  std::vector<std::string> weights_;
  std::vector<std::byte> one_, other_;  // a block of each
  bool in_use_ = false;
};

}  // namespace hone
