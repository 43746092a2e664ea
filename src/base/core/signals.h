// SIGINT and SIGTERM as a flag that long work checks.
#pragma once

namespace hone {

// Installs handlers for SIGINT and SIGTERM that set a flag; long work checks it with stop_requested(). A second SIGINT
// ends the program at once with status 130. Also makes the process ignore SIGPIPE.
void install_stop_handlers();
// Returns true after a signal or request_stop(). A HeldStops (base/core/held_stop.h) delays the effect of a signal.
bool stop_requested();
// Blocks until a stop is requested. Several threads may wait. Call install_stop_handlers() first: else it is a Bug.
void wait_for_stop();
int stop_signal();              // the signal of the request: SIGINT or SIGTERM; 0: no request
void request_stop(int signal);  // requests a stop without a signal; 0 withdraws it (for tests)

}  // namespace hone
