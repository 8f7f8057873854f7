/* Presses the button of the opening page, so that people need not. */
document.getElementById("open").requestSubmit();
