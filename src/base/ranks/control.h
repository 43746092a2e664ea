// The control plane of a run with several ranks (processes with one device each): small messages over TCP by which the
// ranks find each other, exchange values, report progress, and learn of errors. Each rank opens a Control once, before
// all other work.
//
//   const World world = HONE_TRY(read_world());
//   const auto control = HONE_TRY(Control::open(world, {{"program", fingerprint}}));
//   ... control->client().gather(...)
//   return control->end(std::move(status));    // tells the others how this rank ended
//
// control_client.h has the calls of a rank. One process serves the control plane (control_server.h): the launcher if
// World::served is true, else rank 0.
#pragma once

#include <memory>

#include "base/ranks/control_client.h"
#include "base/ranks/control_server.h"

namespace hone {

class Control {
 public:
  // Joins the run, and then waits until all ranks have joined. Each of these steps takes at most `patience_s` seconds.
  // On rank 0, first starts the server unless a launcher serves the control plane. `facts` is an object of texts by
  // name (program, settings, data); they must be equal on all ranks. The secret token of the run is in
  // HONE_RANKS_TOKEN; without it, all ranks must be on one host. Errors: H0126 not all ranks have joined in that time,
  // and those of ControlServer::open() and ControlClient::join().
  static Result<std::unique_ptr<Control>> open(const World& world, Json facts,
                                               double patience_s = 600);
  // On a rank that serves the control plane, waits up to 10 s until the other ranks have heard how the run ended.
  ~Control();

  const World& world() const { return client_->world(); }
  ControlClient& client() { return *client_; }

  // The cause of the error that ends this rank. own: this rank itself. follows: another rank was lost, for example
  // because its connection closed. told: another rank has failed, and its error was reported to this rank.
  enum class Cause { own, follows, told };
  // Tells the other ranks how this rank ended: with success, or with an error. Returns `status`, with one exception: if
  // `cause` is `follows`, waits up to 3 s for the error of the rank that was lost, and returns that error as H0129.
  Status end(Status status, Cause cause = Cause::own);

 private:
  Control() = default;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<ControlClient> client_;
};

}  // namespace hone
