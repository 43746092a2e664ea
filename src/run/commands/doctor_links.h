// hone doctor --hosts and --links: the connections between hosts, before a run of several ranks.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct LinkCheck {
  std::string engine = "gloo";  // of the messages between ranks
  bool json = false;
  std::string address = {};  // of this machine, for the hosts; "": the one on their way
  std::vector<std::string> ssh_words = {};  // further words for ssh
};

// Starts one rank on each host over ssh, which measure their connections. `hosts`: a hostfile, or names
// separated by commas. Errors: H3184, H3181, H3185, H0003.
Result<int> check_hosts(const std::string& hosts, const LinkCheck& how);

// Measures the connections between the ranks that a launcher started; rank 0 prints them. Errors:
// H3006 there is one rank, H1505 two are not connected, those of base/ranks.
Result<int> check_links(const LinkCheck& how);

}  // namespace hone
