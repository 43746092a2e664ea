// Finds out, by TCP connections, which addresses of other hosts this host reaches. A probe sends a secret and 64 KiB,
// and must receive 64 KiB; so a path that loses large packets is not counted as reachable.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Answers the probes of other ranks while it lives.
class ReachServer {
 public:
  // Listens on all interfaces, at a port that the system chooses. H1505: this host cannot listen.
  static Result<std::unique_ptr<ReachServer>> start();
  ~ReachServer();
  int port() const { return port_; }
  // A secret that a probe must send. If two hosts have the same address, a probe that arrives at the wrong host is not
  // answered, because that server has another token.
  const std::string& token() const { return token_; }

 private:
  class Loop;
  ReachServer();
  int port_ = 0;
  std::string token_;
  std::unique_ptr<Loop> loop_;
};

struct ReachTarget {
  std::string address;  // numeric
  int port = 0;
  std::string token;
};
// For each target, 1 if its server answered within `patience_s` seconds, else 0. All targets are probed at the same
// time.
std::vector<char> reached_targets(std::span<const ReachTarget> targets, double patience_s);

}  // namespace hone
