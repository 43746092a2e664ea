// Ranks that have connected prove to each other that they belong to the run. Each rank publishes a secret word in the
// run's key-value store (LinkKeys), which processes outside the run cannot read. A rank proves itself to another
// rank by sending that rank's word over the connection. So a foreign process at the other end is found before the first
// tensor is sent.
#pragma once

#include <string>

#include "engine/comm/engines/link_module.h"

namespace hone {

// Exchanges the words with all other ranks over the link. Returns false and sets the error if a rank did not send
// this rank's word within `patience_s` seconds, sent a wrong word, or `keys` failed. The link cannot be used then.
bool greet_peers(Link& link, int rank, int ranks, LinkKeys& keys, double patience_s,
                 std::string& error);

}  // namespace hone
