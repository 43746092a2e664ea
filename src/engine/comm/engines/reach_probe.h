// Finds out by real connections which addresses of other hosts this host reaches: a small message
// and 64 KiB go there and 64 KiB come back, so that a path which loses large packets does not
// count.
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
  // Listens at a port of the kernel's choice on all interfaces. Error H1505.
  static Result<std::unique_ptr<ReachServer>> start();
  ~ReachServer();
  int port() const { return port_; }
  // A secret that a probe has to know; also tells this server from that of another host with the
  // same address.
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
// For each target, whether its server answered within `patience_s`; all are tried at the same time.
std::vector<char> reached_targets(std::span<const ReachTarget> targets, double patience_s);

}  // namespace hone
