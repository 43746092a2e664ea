// Measures the connections between the hosts of a run over each of their addresses, by TCP alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/ranks/key_values.h"
#include "base/ranks/world.h"

namespace hone {

// Answers measurements of other ranks while it lives.
class EchoServer {
 public:
  // Listens at a port of the kernel's choice on all interfaces. Error H1505.
  static Result<std::unique_ptr<EchoServer>> start();
  ~EchoServer();
  int port() const { return port_; }
  const std::string& token() const { return token_; }  // without it nothing is answered

 private:
  class Loop;
  EchoServer();
  int port_ = 0;
  std::string token_;
  std::unique_ptr<Loop> loop_;
};

// Times are medians; 0: not measured.
struct AddressSpeed {
  bool answers = false;
  double small_s = 0;      // half of the way there and back of 8 bytes
  double block_s = 0;      // the same of 64 KiB
  double bytes_per_s = 0;  // of large messages in the slower direction
  int64_t least_lost = 0;  // bytes of the smallest message that did not arrive; 0: all did
};
// Takes less than a second on a connection without faults; a message may take `patience_s`.
AddressSpeed measure_address(const std::string& address, int port, const std::string& token,
                             double patience_s = 3);

// From rank `from` to an address of rank `to`, which has a higher number.
struct LinkSpeed {
  int from = 0, to = 0;
  std::string from_host = {}, to_host = {};
  std::string interface = {}, address = {};  // of `to`
  int64_t mtu = 0;                           // of that interface, by its host; 0: unknown
  AddressSpeed speed = {};
};
// Every rank of the world calls it, and gets the links of all pairs. Pairs take turns: none shares a rank
// with another one at the same time. Errors: H1505, and those of `keys`.
Result<std::vector<LinkSpeed>> measure_links(const World& world, KeyValues& keys);

}  // namespace hone
