// The door of the control plane: each rank opens it once, first of all.
//
//   const World world = HONE_TRY(read_world());
//   const auto control = HONE_TRY(Control::open(world, {{"program", fingerprint}}));
//   ... control->client().gather(...)
//   return control->end(std::move(status));    // tells the others how this rank ended
//
// Heartbeats, keys, meetings: control_client.h. The launcher serves it, or rank 0: control_server.h.
#pragma once

#include <memory>

#include "base/ranks/control_client.h"
#include "base/ranks/control_server.h"

namespace hone {

class Control {
 public:
  // Joins the run, serves it first if this is rank 0 and no launcher does, and waits until all ranks
  // have joined. `facts`: texts by name that must be those of rank 0. The token is in
  // HONE_RANKS_TOKEN; ranks of one host may do without. Errors: those of ControlServer::open() and
  // ControlClient::join().
  static Result<std::unique_ptr<Control>> open(const World& world, Json facts,
                                               double patience_s = 600);
  ~Control();

  const World& world() const { return client_->world(); }
  ControlClient& client() { return *client_; }

  // Origin of an error: this rank, the loss of another rank, or another rank that has told it.
  enum class Cause { own, follows, told };
  // Reports an error of this rank, or that it has finished. Returns the error, or the first error of
  // another rank if this one follows from it.
  Status end(Status status, Cause cause = Cause::own);

 private:
  Control() = default;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<ControlClient> client_;
};

}  // namespace hone
