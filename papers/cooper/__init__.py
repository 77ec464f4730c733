"""Cooper: Task Colocation with Cooperative Games (2017), and chapter 2 of the thesis."""
