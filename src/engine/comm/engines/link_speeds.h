// Measures the TCP connections between the hosts of a run over each of their addresses, for `hone doctor`. No
// communication engine is needed.
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
  // Listens on all interfaces, at a port that the system chooses. H1505: this host cannot listen.
  static Result<std::unique_ptr<EchoServer>> start();
  ~EchoServer();
  int port() const { return port_; }
  const std::string& token() const { return token_; }  // a secret that clients must send first

 private:
  class Loop;
  EchoServer();
  int port_ = 0;
  std::string token_;
  std::unique_ptr<Loop> loop_;
};

// The speed of a connection to one address. Times are medians in seconds; 0: not measured.
struct AddressSpeed {
  bool answers = false;    // a message of 8 bytes was answered
  double small_s = 0;      // half of the round-trip time of 8 bytes
  double block_s = 0;      // half of the round-trip time of 64 KiB
  double bytes_per_s = 0;  // bytes a second of large messages, in the slower direction
  // The size in bytes of the first test message (8 bytes to 64 KiB, in rising order) that was not answered; 0: all were
  // answered.
  int64_t least_lost = 0;
};
// Measures the connection to the EchoServer at `address` and `port`, whose token is `token`. Takes less than a second
// if the connection works. A message that is not answered within `patience_s` seconds is lost.
AddressSpeed measure_address(const std::string& address, int port, const std::string& token,
                             double patience_s = 3);

// The speed from rank `from` to one address of rank `to`; from < to.
struct LinkSpeed {
  int from = 0, to = 0;
  std::string from_host = {}, to_host = {};
  std::string interface = {}, address = {};  // of rank `to`
  int64_t mtu = 0;  // bytes: the MTU that rank `to` reports for the interface; 0: unknown
  AddressSpeed speed = {};
};
// Measures all pairs of ranks. Every rank of the world must call it, and gets the links of all pairs, ordered by from
// and to. Pairs take turns: a rank takes part in one measurement at a time. H1505: this host cannot listen, or a rank
// runs another version of hone. Also errors of `keys`.
Result<std::vector<LinkSpeed>> measure_links(const World& world, KeyValues& keys);

}  // namespace hone
