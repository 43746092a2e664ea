// The interface between hone and its modules libhone_gloo.so and libhone_mpi.so. Only the modules link with the
// libraries Gloo and Open MPI. A module is a shared library that is loaded when ranks first connect, so hone
// starts without these libraries.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/core/clock.h"
#include "engine/comm/message.h"

namespace hone {

inline constexpr int kLinkModuleVersion = 1;

// The connections of one rank to all other ranks.
class Link {
 public:
  virtual ~Link() = default;
  struct Fault {
    int peer = 0;  // the rank with which an exchange failed
    std::string why;
  };
  // Has the contract of Group::transfer(). Returns false and sets the fault if a message was not sent or received.
  virtual bool transfer(std::span<const Send> sends, std::span<const Receive> receives,
                        Fault& fault) = 0;
  // Makes a running transfer() and all later ones fail. May be called from any thread.
  virtual void wake() = 0;
};

// Texts by key that the ranks share while they connect. get() waits until a rank has set the key. Both functions return
// false and set the error if they fail.
class LinkKeys {
 public:
  virtual bool set(const std::string& key, const std::string& value, std::string& error) = 0;
  virtual bool get(const std::string& key, std::string& value, std::string& error) = 0;

 protected:
  ~LinkKeys() = default;
};

struct LinkRequest {
  int rank = 0, ranks = 1;
  std::string address;    // a numeric address of this host that all other ranks reach
  double connect_s = 0;   // seconds to wait for other ranks to connect
  double exchange_s = 0;  // seconds to wait for another rank in an exchange; may be infinite
  Clock* clock = nullptr;
};
// The function that a module exports, as "hone_gloo_link" or "hone_mpi_link". It connects the ranks and returns a new
// object that the caller owns. Returns null and sets the error if `version` differs from the module's
// kLinkModuleVersion, or a rank cannot be connected.
using StartLink = Link* (*)(int version, const LinkRequest&, LinkKeys&, std::string& error);

}  // namespace hone
