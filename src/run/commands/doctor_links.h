// The commands hone doctor --hosts and hone doctor --links, which test and measure the connections between hosts before
// a run with several ranks (processes that train together).
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct LinkCheck {
  std::string engine = "gloo";  // the communication library to measure
  bool json = false;            // print JSON
  // The address at which the hosts reach this machine; "": the address of the network interface that leads to them.
  std::string address = {};
  std::vector<std::string> ssh_words = {};  // further arguments for ssh
};

// Starts one rank on each host over ssh; the ranks measure their connections. `hosts` is the path of a hostfile, or the
// names of hosts separated by commas. Returns the exit status. Errors: H0003 the hostfile cannot be read, H3184 it
// cannot be used, H3181 the ranks cannot be started, H3185 a host cannot run a rank.
Result<int> check_hosts(const std::string& hosts, const LinkCheck& how);

// Measures the connections between the ranks of this run, which a launcher has started. Rank 0 prints them. Returns the
// exit status. Errors: H3006 the run has only one rank, H1505 two ranks are not connected, those of Control::open().
Result<int> check_links(const LinkCheck& how);

}  // namespace hone
