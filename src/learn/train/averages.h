// Averages of the weights over the steps, which some optimizers and --ema_decay keep as states (kAverageState).
// Evaluations and saved models use the averages instead of the weights. Before an evaluation or a save, the weights and
// the averages exchange their values, bit for bit; afterwards they exchange them again. A checkpoint is written while
// they are exchanged: its weights are the averages, and its states kAverageState are the weights of training.
#pragma once

#include <string>
#include <vector>

#include "engine/session/session.h"

namespace hone {

class WeightAverages {
 public:
  // Finds the averages of these weights among the states of the session. A weight may have no average. The session must
  // outlive this object.
  void attach(Session& session, const std::vector<std::string>& weights);
  bool any() const { return !weights_.empty(); }  // true: at least one weight has an average

  // Whether weights and averages are exchanged now.
  bool in_use() const { return in_use_; }
  // Call this after the states were read from a saved model or a checkpoint: in both, weights and averages are
  // exchanged. Makes in_use() true.
  void were_loaded() { in_use_ = true; }
  // Exchanges the values of weights and averages. Errors: those of the session's reads and writes.
  Status exchange();

 private:
  Session* session_ = nullptr;
  std::vector<std::string> weights_;
  std::vector<std::byte> one_, other_;  // one_: a block of a weight; other_: a block of its average
  bool in_use_ = false;
};

}  // namespace hone
