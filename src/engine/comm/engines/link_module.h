// The interface between hone and its modules libhone_gloo.so and libhone_mpi.so, the only code that
// includes the libraries of these names. A module is a file of its own, loaded when ranks first
// connect, so that hone runs without it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/core/clock.h"
#include "engine/comm/message.h"

namespace hone {

inline constexpr int kLinkModuleVersion = 1;

// The connections of one rank to all others.
class Link {
 public:
  virtual ~Link() = default;
  struct Fault {
    int peer = 0;
    std::string why;
  };
  // Does Group::transfer(). Returns false and sets the fault if a message did not arrive.
  virtual bool transfer(std::span<const Send> sends, std::span<const Receive> receives,
                        Fault& fault) = 0;
  // Ends a running transfer() and all later ones. Any thread.
  virtual void wake() = 0;
};

// Texts by name that the ranks share while they connect. Functions return false and set the error
// if it fails.
class LinkKeys {
 public:
  virtual bool set(const std::string& key, const std::string& value, std::string& error) = 0;
  virtual bool get(const std::string& key, std::string& value, std::string& error) = 0;

 protected:
  ~LinkKeys() = default;
};

struct LinkRequest {
  int rank = 0, ranks = 1;
  std::string address;    // numeric, of this host, which all other ranks reach
  double connect_s = 0;   // patience with ranks that do not connect
  double exchange_s = 0;  // patience in an exchange; may be infinite
  Clock* clock = nullptr;
};
// A module's only symbol: "hone_gloo_link" or "hone_mpi_link". Returns null and sets the error if
// the version differs or a rank cannot be connected.
using StartLink = Link* (*)(int version, const LinkRequest&, LinkKeys&, std::string& error);

}  // namespace hone
