// Predicts the time of messages between ranks on one or several machines.
#pragma once

#include "engine/plan/cost_model.h"

namespace hone {

// Speeds of the links of a rank; 0: unknown, and free.
struct LinkSpeeds {
  double near_bytes_per_second = 0;  // sent to ranks of the same machine
  double far_bytes_per_second = 0;   // sent to ranks of other machines
  // Before a round of messages arrives, in a machine and between machines; and for each message.
  double near_seconds = 0, far_seconds = 0, message_seconds = 0;
  int64_t near_ranks = 0;  // ranks with consecutive numbers on one machine; 0: all
};

// The bytes and messages that a rank sends.
struct LinkTraffic {
  double near_bytes = 0, far_bytes = 0;  // to ranks of its machine, to others
  double rounds = 0, messages = 0;
  LinkTraffic& operator+=(const LinkTraffic& other);
  LinkTraffic times(double n) const;
};
// A rank sends about as many bytes to each other one.
LinkTraffic link_traffic_of(const NodeView& collective, int64_t near_ranks);
LinkTraffic link_traffic_of(const Program& p, int64_t near_ranks);

// Messages in a machine and between machines travel at the same time.
double seconds_of(const LinkTraffic& traffic, const LinkSpeeds& links);

// run_seconds() of cost_model.h with collectives over these links.
double run_seconds(const Program& p, const Speeds& speeds, const LinkSpeeds& links);

}  // namespace hone
