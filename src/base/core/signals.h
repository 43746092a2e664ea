// SIGINT and SIGTERM as a flag that long work checks.
#pragma once

namespace hone {

// After this, SIGINT and SIGTERM set a flag that long work checks with stop_requested(); a
// second SIGINT ends the program at once with status 130. SIGPIPE is ignored.
void install_stop_handlers();
bool stop_requested();
// Blocks until a stop is requested; any number of threads may wait. After install_stop_handlers().
void wait_for_stop();
int stop_signal();              // 0, SIGINT or SIGTERM
void request_stop(int signal);  // as if the signal had come; 0 withdraws the request (tests)

}  // namespace hone
