/* `klamm storage`: Kafka's kafka-storage with its options, outputs and errors. Blocks; main thread.
 * argv[0] is "storage", argv[1] the command. Returns the exit status. */
#ifndef KLAMM_CLI_STORAGE_H
#define KLAMM_CLI_STORAGE_H

int storage_main(int argc, char **argv);

#endif
