// Averages of the weights over the steps, which some optimizers and --ema_decay keep as states (kAverageState).
// Evaluations and saved models use the averages instead of the weights. For that time the two exchange their values,
// bit for bit, and change back afterwards. A checkpoint is written while they are exchanged: its weights are the
// averages, and its states kAverageState are the weights of training.
#pragma once

#include <string>
#include <vector>

#include "engine/session/session.h"

namespace hone {

class WeightAverages {
 public:
  // Finds the averages of these weights among the states of the session; there may be none. The session must outlive
  // this object.
  void attach(Session& session, const std::vector<std::string>& weights);
  bool any() const { return !weights_.empty(); }  // some weight has an average

  // Whether weights and averages are exchanged now.
  bool in_use() const { return in_use_; }
  // Call this after the weights were read from a saved model or a checkpoint, in which they are exchanged.
  void were_loaded() { in_use_ = true; }
  // Exchanges the values of weights and averages. Errors: those of the session's reads and writes.
  Status exchange();

 private:
  Session* session_ = nullptr;
  std::vector<std::string> weights_;
  std::vector<std::byte> one_, other_;  // a block of the weight, a block of the average
  bool in_use_ = false;
};

}  // namespace hone
