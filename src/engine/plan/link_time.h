// Predicts the time of collectives between ranks on one or several machines. "Near" means between ranks of one machine,
// "far" between ranks of different machines. A collective exchanges messages in rounds.
#pragma once

#include "engine/plan/cost_model.h"

namespace hone {

// The speeds of a rank's links. A speed of 0 is unknown: traffic on this link then takes no time.
struct LinkSpeeds {
  double near_bytes_per_second = 0;  // bytes that a rank sends to the other ranks of its machine
  double far_bytes_per_second = 0;   // bytes that a rank sends to ranks of other machines
  // near_seconds, far_seconds: the latency of each round. If a collective sends bytes to another machine, each of its
  // rounds takes the larger of far_seconds and near_seconds; else each round takes near_seconds. message_seconds: a
  // rank's time for each message that it sends, in addition.
  double near_seconds = 0, far_seconds = 0, message_seconds = 0;
  // The number of ranks on each machine, which have consecutive numbers; 0: all ranks are on one machine.
  int64_t near_ranks = 0;
};

// The traffic of one rank.
struct LinkTraffic {
  // near_bytes: bytes that the rank sends to other ranks of its machine. far_bytes: bytes that it sends to ranks of
  // other machines.
  double near_bytes = 0, far_bytes = 0;
  double rounds = 0, messages = 0;  // numbers of rounds and of sent messages
  LinkTraffic& operator+=(const LinkTraffic& other);
  LinkTraffic times(double n) const;  // each number multiplied by n
};
// The traffic of one collective. `near_ranks` is that of LinkSpeeds. Assumes that a rank sends an equal number of bytes
// to each of the other ranks.
LinkTraffic link_traffic_of(const NodeView& collective, int64_t near_ranks);
// The traffic of all collectives of a program.
LinkTraffic link_traffic_of(const Program& p, int64_t near_ranks);

// The time of the traffic in seconds: the latency of its rounds, plus the time of its messages, plus the longer of the
// times of near and far bytes, which travel at the same time. If the traffic has far bytes, each of its rounds takes
// the larger of far_seconds and near_seconds.
double seconds_of(const LinkTraffic& traffic, const LinkSpeeds& links);

// run_seconds() of cost_model.h, with the time of collectives by `links` instead of by Speeds.
double run_seconds(const Program& p, const Speeds& speeds, const LinkSpeeds& links);

}  // namespace hone
