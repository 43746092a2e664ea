// Ranks that have connected prove to each other that they belong to the run: each sends the word that the
// other one has published on the control plane, which strangers cannot read. A stranger that took a
// connection is found before the first tensor is sent.
#pragma once

#include <string>

#include "engine/comm/engines/link_module.h"

namespace hone {

// Exchanges the words over the link, and waits for those of all others. False, with the error set: a
// rank did not send its word within `patience_s`, sent another one, or `keys` failed. The link is of
// no use then.
bool greet_peers(Link& link, int rank, int ranks, LinkKeys& keys, double patience_s,
                 std::string& error);

}  // namespace hone
