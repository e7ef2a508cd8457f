// Ends this process when the one that started it is gone, however that happened: its end of our stdin closes.
process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();
